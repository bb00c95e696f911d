"""The short way for what customers write: read once without a lock, decide, write by one statement where it stands so.

Only for who is known, in a conversation that there is, and says nothing new of themselves. Whatever else a POST brings,
and whatever somebody else has changed meanwhile, goes the long way through the kernel.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from operator import itemgetter

from waypost.adapters.sql import gate_rows, meeting, talk_rows
from waypost.adapters.sql.kernel import Decided
from waypost.adapters.sql.plan import AtOnce, Plan, Row, each, some
from waypost.adapters.sql.taking import Take
from waypost.adapters.sql.work import Work
from waypost.adapters.sql.writer import Address
from waypost.model.conversation import Arrival, ConversationId
from waypost.model.report import Post
from waypost.model.time import Instant
from waypost.ports.journal import Taken
from waypost.rules.people import spellings

_MOST_ADDRESSES = 2
"""A phone number and the id that Meta gives a customer for this business."""
_HEAD = 9
_LANE = _HEAD + talk_rows.CONVERSATION
_PAIR = _LANE + talk_rows.LANE


def arrive(intents: Sequence[Take], elsewhere: Container[Address]) -> Plan[Decided]:
    """One answer per intent; None where the long way is needed. `elsewhere`: who has something on that way already."""
    wanted = [told for intent in intents if _may_be_short(intent.post) for told in intent.post.arrivals]
    found = yield from each("arrivals_read", [_row(n, told) for n, told in enumerate(wanted)])
    hall = _Hall({id(wanted[row[0]]): row for row in found}, elsewhere, max(intent.now for intent in intents))
    taken = [hall.take(intent) for intent in intents]
    drawn = (yield hall.writing()) if hall.has_news else []
    return Decided(taken if drawn else [None] * len(intents), dict(drawn))  # type: ignore[arg-type]  # a name and a number each


def _may_be_short(post: Post) -> bool:
    told = post.arrivals
    is_plain = not (post.reports or post.items or post.closings)
    return is_plain and all(t.consent is None and len(t.addresses) <= _MOST_ADDRESSES for t in told)


def _row(n: int, told: Arrival) -> Row:
    other = told.addresses[1] if len(told.addresses) > 1 else None
    return n, told.org_id, told.addresses[0], other, told.number, told.wamid, told.reply_to


def _is_one_pair(told: Arrival, row: Row) -> bool:
    """Only a pair that was read can be compared: one that there is, of a phone that is written in no other form."""
    return row[8] is not None and spellings(told.reply_to) == (told.reply_to,)


class _Hall:
    """Who of a batch is let in, and what they say there."""

    def __init__(self, found: Mapping[int, Row], elsewhere: Container[Address], now: Instant) -> None:
        self._found = found
        self._elsewhere = elsewhere
        self._sent_away: set[Address] = set()
        self._work = Work(now)
        self._talks: dict[ConversationId, Row] = {}
        self._pairs: dict[tuple[str, str], str] = {}

    @property
    def has_news(self) -> bool:
        """And nothing that is written apart."""
        return bool(self._work.talks.items) and not self._work.talks.worked

    def take(self, intent: Take) -> Taken | None:
        """None also for whoever comes after somebody of the same address who was sent away: nobody is overtaken."""
        if not all(self._is_expected(told) for told in intent.post.arrivals):
            self._sent_away.update((told.org_id, a) for told in intent.post.arrivals for a in told.addresses)
            return None
        for told in intent.post.arrivals:
            self._let_in(told, self._found[id(told)])
        return intent.decide(self._work)

    def _is_expected(self, told: Arrival) -> bool:
        row = self._found.get(id(told))
        if row is None or told.name not in (None, "", row[1]) or told.username not in (None, "", row[2]):
            return False
        if len(told.addresses) > 1 and row[4] != row[3]:
            return False
        if told.opens_window and not _is_one_pair(told, row):
            return False
        names = [(told.org_id, address) for address in told.addresses]
        return not any(name in self._sent_away or name in self._elsewhere for name in names)

    def _let_in(self, told: Arrival, row: Row) -> None:
        talks, where = self._work.talks, ConversationId(row[_HEAD])
        if where not in self._talks:
            self._talks[where] = (where, row[6], row[7])
            talks.conversations[where] = talk_rows.conversation(row[_HEAD:_LANE])
            talks.lanes[where] = talk_rows.lane(row[_LANE:_PAIR])
        talks.where[told.number, told.wamid] = where
        if row[5] is not None:
            talks.known.add((told.number, told.wamid))
        if told.opens_window:
            pair = (told.number, told.reply_to)
            if pair not in self._pairs:
                self._pairs[pair] = row[8]
                self._work.pairs[pair] = gate_rows.pair(row[_PAIR:])

    def writing(self) -> AtOnce:
        """In the order of all locks: the feeds come last."""
        work, talks = self._work, self._work.talks
        certain = some(
            each("talk_unchanged", [self._talks[where] for where in sorted(self._talks)]),
            each("pair_unchanged", [(*pair, self._pairs[pair]) for pair in sorted(self._pairs)]),
            each("arrival_insert", sorted(talks.arrivals, key=itemgetter(0, 1))),
        )
        writes = some(
            *meeting.writes(talks),
            each("pair_put", [gate_rows.pair_row(work.pairs[pair]) for pair in sorted(work.touched)]),
            *meeting.feed_writes(talks),
        )
        return AtOnce(certain, writes, asked="feed_draw")

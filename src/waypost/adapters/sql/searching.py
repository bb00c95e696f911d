"""The index of words, in SQL: it follows the feeds, which are gapless, so whoever writes does nothing for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from waypost.adapters.sql import talk_rows
from waypost.adapters.sql.behind import advance
from waypost.adapters.sql.conversations import forgotten
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Once, Plan, Row, each
from waypost.adapters.sql.talks import feed_of
from waypost.model.chat import FeedName
from waypost.model.conversation import ConversationId, Entry, Position
from waypost.model.ids import OrgId
from waypost.model.reading import Reader, Standing, Stretch
from waypost.model.time import Instant
from waypost.ports.search import Found, FoundId, Wanted
from waypost.rules import reading
from waypost.rules.chat_content import words
from waypost.rules.search import Asked, searchable

_SAME_MOMENT = 11
"""Bits of an id that tell apart what was said in the same microsecond."""
_CUSTOMER = "customer"


class SqlSearch:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def index(self, behind: Sequence[Standing], limit: int) -> Sequence[Standing]:
        stretches = reading.stretches(behind, limit)
        if not stretches:
            return []
        names, after, last = ([stretch[n] for stretch in stretches] for n in range(3))
        items = await self._engine.read("search_items", names, after, last)
        await self._engine.transact(_take(stretches, _news(items)), "search")
        return reading.left(behind, stretches)

    async def find(self, wanted: Wanted, before: FoundId, limit: int) -> Sequence[Found]:
        rows = await self._engine.read(
            "search_find", _expression(wanted), before, wanted.org_id, wanted.user_id or "", limit
        )
        return [Found(id=row[0], contact_id=row[1], entry=talk_rows.entry(row[2:])) for row in rows]

    async def forget(self, before: Instant, limit: int) -> int:
        oldest = Instant(max(0, before) << _SAME_MOMENT)
        return await self._engine.transact(forgotten("search_forget", oldest, limit), "search")


@dataclass(slots=True)
class _News:
    """What the items of one feed change in the index; later ones undo earlier ones."""

    rows: dict[tuple[ConversationId, Position], Row] = field(default_factory=dict)
    gone: list[tuple[ConversationId, Position]] = field(default_factory=list)
    joined: list[tuple[ConversationId, ConversationId]] = field(default_factory=list)
    """(gone, here): everything of both is found here from now on."""


def _news(items: Sequence[Row]) -> dict[FeedName, _News]:
    news: dict[FeedName, _News] = {}
    for feed, _, kind, where, body, org, of, *said in items:
        of_feed = news.setdefault(feed, _News())
        if kind == "message" and said[0] is not None:
            entry = talk_rows.entry(said)
            if not feed.startswith("user:") or feed == feed_of(entry.sender):  # once, not in each of its members' feeds
                of_feed.rows.update(_indexed(org, of, [entry]))
        elif kind == "deleted":
            place = where, msgspec.json.decode(body)["position"]
            of_feed.rows.pop(place, None)
            of_feed.gone.append(place)
        elif kind == "joined" and feed.startswith("team:"):  # contacts; in other feeds, people who come to a group
            of_feed.joined.append((msgspec.json.decode(body)["gone"], where))
    return news


def _indexed(
    org: OrgId, of: str, entries: Iterable[Entry]
) -> Iterator[tuple[tuple[ConversationId, Position], tuple[int, ConversationId, Position, str]]]:
    """Rows of those that say something, by their places."""
    for entry in entries:
        said = searchable(words(entry)) if entry.deleted_at is None else []
        if said:
            where, position = entry.conversation_id, entry.position
            id_ = (entry.id_at << _SAME_MOMENT) + where % (1 << _SAME_MOMENT)
            everyone = [_customers(org)] if of == _CUSTOMER else []
            yield (where, position), (id_, where, position, " ".join([_all(org), *everyone, _there(where), *said]))


def _all(org: OrgId) -> str:
    """What stands before words that nobody can type: of which org it is, and where it was said."""
    return f"|o{org.encode().hex()}"


def _customers(org: OrgId) -> str:
    return f"|k{org.encode().hex()}"


def _there(where: ConversationId) -> str:
    return f"|c{where}"


def _expression(wanted: Wanted) -> str:
    """As FTS5 has it; a word is letters and digits, so nothing in it needs care."""
    of_org = _all(wanted.org_id) if wanted.user_id is not None else _customers(wanted.org_id)
    scope = [of_org] if wanted.conversation_id is None else [of_org, _there(wanted.conversation_id)]
    return " ".join([f'"{word}"' for word in (*scope, *wanted.asked.words)] + [_beginning(wanted.asked)])


def _beginning(asked: Asked) -> str:
    return f'"{asked.begins}"' if asked.whole else f'"{asked.begins}"*'


def _take(stretches: Sequence[Stretch], news: dict[FeedName, _News]) -> Plan[None]:
    ours = yield from advance(Reader.SEARCH, stretches)
    taken = [news[stretch.feed] for stretch in ours if stretch.feed in news]
    rows = {place: row for one in taken for place, row in one.rows.items()}
    yield from each("search_drop", sorted({place for one in taken for place in one.gone}))
    yield from _put(list(rows.values()))
    for gone, here in [pair for one in taken for pair in one.joined]:
        yield from each("search_drop_all", [(gone,)])
        said = yield Once("search_said", (here,))
        found = [talk_rows.entry(row[2:]) for row in said]
        yield from each("search_drop", [(entry.conversation_id, entry.position) for entry in found])
        yield from _put([row for org, of, *entry in said for _, row in _indexed(org, of, [talk_rows.entry(entry)])])


def _put(rows: Sequence[Row]) -> Plan[None]:
    """An id that somebody else has is not free; the next one is nearly as late."""
    while rows:
        rows = sorted(rows, key=lambda row: (row[0], row[1]))
        stored = {(row[0], row[1]) for row in (yield from each("search_put", rows))}
        missing = [row for row in rows if (row[1], row[2]) not in stored]
        found = yield from each("search_known", sorted((row[1], row[2]) for row in missing))
        known = {(row[0], row[1]) for row in found}
        rows = [(row[0] + 1, *row[1:]) for row in missing if (row[1], row[2]) not in known]

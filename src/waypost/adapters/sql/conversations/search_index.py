"""The search index in SQL: it consumes the gapless feeds, so that writers do nothing for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from waypost.adapters.sql.conversations.conversations import forgotten
from waypost.adapters.sql.conversations.feed_consumers import advance
from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan, Row, each
from waypost.adapters.sql.kernel.conversation_work import feed_of
from waypost.adapters.sql.rows import conversation_rows
from waypost.model.chat import FeedName
from waypost.model.consumer import Consumer, ConsumerPosition, FeedRange
from waypost.model.conversation import ConversationId, Entry, Position
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.ports.conversations.search import FoundId, SearchHit, SearchQuery
from waypost.rules.conversations.chat_content import words
from waypost.rules.conversations.search import SearchTerms, searchable
from waypost.rules.history import consumer_ranges

_SAME_MOMENT = 11
"""Bits of an id that distinguish entries of the same microsecond."""
_CUSTOMER = "customer"


class SqlSearch:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def index(self, lagging: Sequence[ConsumerPosition], limit: int) -> Sequence[ConsumerPosition]:
        ranges = consumer_ranges.stretches(lagging, limit)
        if not ranges:
            return []
        names, after, last = ([item[n] for item in ranges] for n in range(3))
        items = await self._engine.read("search_items", names, after, last)
        await self._engine.transact(_take(ranges, _news(items)), "search")
        return consumer_ranges.remaining_ranges(lagging, ranges)

    async def find(self, wanted: SearchQuery, before: FoundId, limit: int) -> Sequence[SearchHit]:
        rows = await self._engine.read(
            "search_find", _expression(wanted), before, wanted.org_id, wanted.user_id or "", limit
        )
        return [SearchHit(id=row[0], contact_id=row[1], entry=conversation_rows.entry(row[2:])) for row in rows]

    async def forget(self, before: Instant, limit: int) -> int:
        oldest = Instant(max(0, before) << _SAME_MOMENT)
        return await self._engine.transact(forgotten("search_forget", oldest, limit), "search")


@dataclass(slots=True)
class _News:
    """The index changes of one feed's items; later items override earlier ones."""

    rows: dict[tuple[ConversationId, Position], Row] = field(default_factory=dict)
    gone: list[tuple[ConversationId, Position]] = field(default_factory=list)
    joined: list[tuple[ConversationId, ConversationId]] = field(default_factory=list)
    """(gone, here): merged conversations, both found under `here` from now on."""


def _news(items: Sequence[Row]) -> dict[FeedName, _News]:
    news: dict[FeedName, _News] = {}
    for feed, _, kind, where, body, org, of, *entry_row in items:
        of_feed = news.setdefault(feed, _News())
        if kind == "message" and entry_row[0] is not None:
            entry = conversation_rows.entry(entry_row)
            if not feed.startswith("user:") or feed == feed_of(entry.sender):  # once, not in each member's feed
                of_feed.rows.update(_indexed(org, of, [entry]))
        elif kind == "deleted":
            place = where, msgspec.json.decode(body)["position"]
            of_feed.rows.pop(place, None)
            of_feed.gone.append(place)
        elif kind == "joined" and feed.startswith("team:"):  # merged contacts; elsewhere a new group member
            of_feed.joined.append((msgspec.json.decode(body)["gone"], where))
    return news


def _indexed(
    org: OrgId, of: str, entries: Iterable[Entry]
) -> Iterator[tuple[tuple[ConversationId, Position], tuple[int, ConversationId, Position, str]]]:
    """Index rows of entries with searchable words, by position."""
    for entry in entries:
        terms = searchable(words(entry)) if entry.deleted_at is None else []
        if terms:
            where, position = entry.conversation_id, entry.position
            id_ = (entry.id_at << _SAME_MOMENT) + where % (1 << _SAME_MOMENT)
            everyone = [_customers(org)] if of == _CUSTOMER else []
            yield (where, position), (id_, where, position, " ".join([_all(org), *everyone, _there(where), *terms]))


def _all(org: OrgId) -> str:
    """A marker that no user can type; markers restrict a search to an org or a conversation."""
    return f"|o{org.encode().hex()}"


def _customers(org: OrgId) -> str:
    return f"|k{org.encode().hex()}"


def _there(where: ConversationId) -> str:
    return f"|c{where}"


def _expression(wanted: SearchQuery) -> str:
    """An FTS5 query; words are letters and digits, so nothing needs escaping."""
    of_org = _all(wanted.org_id) if wanted.user_id is not None else _customers(wanted.org_id)
    scope = [of_org] if wanted.conversation_id is None else [of_org, _there(wanted.conversation_id)]
    return " ".join([f'"{word}"' for word in (*scope, *wanted.asked.words)] + [_beginning(wanted.asked)])


def _beginning(asked: SearchTerms) -> str:
    return f'"{asked.begins}"' if asked.whole else f'"{asked.begins}"*'


def _take(ranges: Sequence[FeedRange], news: dict[FeedName, _News]) -> Plan[None]:
    ours = yield from advance(Consumer.SEARCH, ranges)
    taken = [news[item.feed] for item in ours if item.feed in news]
    rows = {place: row for one in taken for place, row in one.rows.items()}
    yield from each("search_drop", sorted({place for one in taken for place in one.gone}))
    yield from _put(list(rows.values()))
    for gone, here in [merge for one in taken for merge in one.joined]:
        yield from each("search_drop_all", [(gone,)])
        rows_here = yield Once("search_said", (here,))
        found = [conversation_rows.entry(row[2:]) for row in rows_here]
        yield from each("search_drop", [(entry.conversation_id, entry.position) for entry in found])
        yield from _put(
            [row for org, of, *entry in rows_here for _, row in _indexed(org, of, [conversation_rows.entry(entry)])]
        )


def _put(rows: Sequence[Row]) -> Plan[None]:
    """If an id is taken, use the next one, which sorts nearly the same."""
    while rows:
        rows = sorted(rows, key=lambda row: (row[0], row[1]))
        stored = {(row[0], row[1]) for row in (yield from each("search_put", rows))}
        missing = [row for row in rows if (row[1], row[2]) not in stored]
        found = yield from each("search_known", sorted((row[1], row[2]) for row in missing))
        known = {(row[0], row[1]) for row in found}
        rows = [(row[0] + 1, *row[1:]) for row in missing if (row[1], row[2]) not in known]

"""Archiving in SQL: the entries to archive, the archived ranges, and the bodies to remove from the Ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from waypost.adapters.sql.conversations.feed_consumers import advance
from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Plan, Row, each
from waypost.adapters.sql.rows import conversation_rows
from waypost.model.consumer import Consumer, FeedRange
from waypost.model.conversation import ArchiveKey, ConversationId, Position
from waypost.model.history import ArchivedBody, ConfirmedRange, PendingArchiveEntry
from waypost.model.message import Status
from waypost.model.time import Instant
from waypost.ports.history.archive import ArchiveItem
from waypost.rules.history.archive import LARGEST_BODY

_ITEM = 5
_WAITING = 4
_END = (2**62, 2**62)
"""After every entry."""


class SqlArchiveFeed:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def entries(self, ranges: Sequence[FeedRange]) -> Sequence[ArchiveItem]:
        return [_item(row) for row in await self._between("hand_over_told", ranges)]

    async def _between(self, statement: str, ranges: Sequence[FeedRange]) -> list[Row]:
        feeds, since, upto = ([range_[n] for range_ in ranges] for n in range(3))
        return await self._engine.read(statement, feeds, since, upto) if ranges else []

    async def moved(self, conversation: ConversationId, after: Position, limit: int) -> Sequence[PendingArchiveEntry]:
        return [_waiting(row) for row in await self._engine.read("hand_over_moved", conversation, after, limit)]

    async def confirm(self, ranges: Sequence[FeedRange], now: Instant) -> Sequence[FeedRange]:
        return await self._engine.transact(_confirm(sorted(ranges), now), "search")

    async def confirm_again(self, ranges: Sequence[FeedRange], now: Instant) -> None:
        rows = [(range_.feed, range_.upto, now) for range_ in sorted(ranges)]
        await self._engine.transact(each("handed_over_again", rows), "search")

    async def confirmed(self, since: Instant, upto: Instant, limit: int) -> Sequence[ConfirmedRange]:
        return [_confirmed(row) for row in await self._engine.read("handed_over_between", since, upto, limit)]

    async def bodies(self, ranges: Sequence[FeedRange]) -> Sequence[ArchivedBody]:
        rows = await self._between("handed_over_entries", ranges)
        return [_body(row) for row in rows if row[5] <= LARGEST_BODY]

    async def empty(self, verified: Mapping[ConfirmedRange, Sequence[ArchiveKey]]) -> int:
        return await self._engine.transact(_empty(verified), "search")

    async def away_after(
        self, after: tuple[ConversationId, Position], limit: int
    ) -> tuple[Sequence[PendingArchiveEntry], tuple[ConversationId, Position] | None]:
        ends = await self._engine.read("entry_place_after", *after, limit - 1)
        last = (ConversationId(ends[0][0]), Position(ends[0][1])) if ends else None
        found = await self._engine.read("entries_away_between", *after, *(last or _END))
        return [_waiting(row) for row in found], last


def _item(row: Row) -> ArchiveItem:
    return ArchiveItem(
        feed=row[0],
        seq=row[1],
        at=row[2],
        kind=row[3],
        conversation_id=row[4],
        waiting=None if row[_ITEM + _WAITING] is None else _waiting(row[_ITEM:]),
    )


def _waiting(row: Row) -> PendingArchiveEntry:
    org, status, read_at, generation = row[:_WAITING]
    return PendingArchiveEntry(
        org_id=org,
        entry=conversation_rows.entry(row[_WAITING:]),
        status=None if status is None else Status(status),
        was_read=read_at is not None,
        generation=generation or 1,
    )


def _confirmed(row: Row) -> ConfirmedRange:
    feed, since, upto, at, read = row
    return ConfirmedRange(FeedRange(feed, since, upto), at, indexed=read >= upto)


def _body(row: Row) -> ArchivedBody:
    feed, seq, conversation, position, id_at, _, erased, unanswered = row
    key = ArchiveKey(conversation, position, id_at)
    return ArchivedBody(feed=feed, seq=seq, key=key, erased=bool(erased), unanswered=bool(unanswered))


def _confirm(ranges: Sequence[FeedRange], now: Instant) -> Plan[list[FeedRange]]:
    ours = yield from advance(Consumer.ARCHIVE, ranges)
    yield from each("handed_over_put", [(*range_, now) for range_ in ours])
    return ours


def _empty(verified: Mapping[ConfirmedRange, Sequence[ArchiveKey]]) -> Plan[int]:
    keys = {(one.range.feed, one.range.upto): found for one, found in verified.items()}
    dropped = yield from each("handed_over_drop", sorted((one.range.feed, one.range.upto, one.at) for one in verified))
    emptied = yield from each("entry_empty", sorted(key for feed, upto in dropped for key in keys[feed, upto]))
    return len(emptied)

"""Archiving in SQL: the entries to archive, the archived ranges, and the bodies to remove from the Ledger."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.conversations.feed_consumers import advance
from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Plan, Row, each
from waypost.adapters.sql.rows import conversation_rows
from waypost.model.consumer import Consumer, FeedRange
from waypost.model.conversation import ConversationId, Position
from waypost.model.history import PendingArchiveEntry
from waypost.model.message import Status
from waypost.model.time import Instant
from waypost.ports.history.archive import ArchiveItem, PrunedBodies
from waypost.rules.history.archive import LARGEST_BODY

_ITEM = 5
_WAITING = 4


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

    async def empty(self, before: Instant, limit: int, again: Instant, *, spare_waiting: bool) -> PrunedBodies:
        due = await self._engine.read("handed_over_due", before, limit)
        indexed = [FeedRange(*row[:3]) for row in due if row[3] >= row[2]]
        wait = {FeedRange(*row[:3]) for row in due if row[3] < row[2]}
        rows = []
        for feed, seq, where, position, id_at, length, is_waiting in await self._between(
            "handed_over_entries", indexed
        ):
            if is_waiting and spare_waiting:
                wait |= {one for one in indexed if one.feed == feed and one.since < seq <= one.upto}
            elif length <= LARGEST_BODY:
                rows.append((where, position, id_at))
        done = [one for one in indexed if one not in wait]
        bodies = await self._engine.transact(_empty(sorted(rows), done, sorted(wait), again), "search")
        return PrunedBodies(bodies, more=len(due) == limit)

    async def away(self, after: ConversationId, upto: ConversationId, share: float) -> Sequence[PendingArchiveEntry]:
        return [_waiting(row) for row in await self._engine.read("entries_away", after, upto, int(share * 1_000_000))]


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


def _confirm(ranges: Sequence[FeedRange], now: Instant) -> Plan[list[FeedRange]]:
    ours = yield from advance(Consumer.ARCHIVE, ranges)
    yield from each("handed_over_put", [(*range_, now) for range_ in ours])
    return ours


def _empty(rows: Sequence[Row], done: Sequence[FeedRange], wait: Sequence[FeedRange], again: Instant) -> Plan[int]:
    emptied = yield from each("entry_empty", rows)
    yield from each("handed_over_drop", [(range_.feed, range_.upto) for range_ in done])
    yield from each("handed_over_again", [(range_.feed, range_.upto, again) for range_ in wait])
    return len(emptied)

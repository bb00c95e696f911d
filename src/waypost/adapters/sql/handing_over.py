"""From the Ledger to the Log, in SQL: what waits, what the Log has, and bodies that need not stay here any longer."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql import talk_rows
from waypost.adapters.sql.behind import advance
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Plan, Row, each
from waypost.model.conversation import ConversationId, Position
from waypost.model.log import Waiting
from waypost.model.message import Status
from waypost.model.reading import Reader, Stretch
from waypost.model.time import Instant
from waypost.ports.hand_over import Emptied, Told
from waypost.rules.hand_over import LARGEST_BODY

_TOLD = 5
_WAITING = 4


class SqlHandOver:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def told(self, stretches: Sequence[Stretch]) -> Sequence[Told]:
        return [_told(row) for row in await self._between("hand_over_told", stretches)]

    async def _between(self, statement: str, stretches: Sequence[Stretch]) -> list[Row]:
        feeds, since, upto = ([stretch[n] for stretch in stretches] for n in range(3))
        return await self._engine.read(statement, feeds, since, upto) if stretches else []

    async def moved(self, conversation: ConversationId, after: Position, limit: int) -> Sequence[Waiting]:
        return [_waiting(row) for row in await self._engine.read("hand_over_moved", conversation, after, limit)]

    async def confirm(self, stretches: Sequence[Stretch], now: Instant) -> Sequence[Stretch]:
        return await self._engine.transact(_confirm(sorted(stretches), now), "search")

    async def empty(self, before: Instant, limit: int, again: Instant, *, spare_waiting: bool) -> Emptied:
        due = await self._engine.read("handed_over_due", before, limit)
        indexed = [Stretch(*row[:3]) for row in due if row[3] >= row[2]]
        wait = {Stretch(*row[:3]) for row in due if row[3] < row[2]}
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
        return Emptied(bodies, more=len(due) == limit)

    async def away(self, after: ConversationId, upto: ConversationId, share: float) -> Sequence[Waiting]:
        return [_waiting(row) for row in await self._engine.read("entries_away", after, upto, int(share * 1_000_000))]


def _told(row: Row) -> Told:
    return Told(
        feed=row[0],
        seq=row[1],
        at=row[2],
        kind=row[3],
        conversation_id=row[4],
        waiting=None if row[_TOLD + _WAITING] is None else _waiting(row[_TOLD:]),
    )


def _waiting(row: Row) -> Waiting:
    org, status, read_at, generation = row[:_WAITING]
    return Waiting(
        org_id=org,
        entry=talk_rows.entry(row[_WAITING:]),
        status=None if status is None else Status(status),
        was_read=read_at is not None,
        generation=generation or 1,
    )


def _confirm(stretches: Sequence[Stretch], now: Instant) -> Plan[list[Stretch]]:
    ours = yield from advance(Reader.LOG, stretches)
    yield from each("handed_over_put", [(*stretch, now) for stretch in ours])
    return ours


def _empty(rows: Sequence[Row], done: Sequence[Stretch], wait: Sequence[Stretch], again: Instant) -> Plan[int]:
    emptied = yield from each("entry_empty", rows)
    yield from each("handed_over_drop", [(stretch.feed, stretch.upto) for stretch in done])
    yield from each("handed_over_again", [(stretch.feed, stretch.upto, again) for stretch in wait])
    return len(emptied)

"""The Log in the Ledger's own tables: what the kernel stores is kept by that, and an entry's place finds it."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql import talk_rows
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import each
from waypost.model.conversation import Entry, Spot
from waypost.model.time import Instant
from waypost.ports.log import Line, Mark


class SqlLog:
    """Nothing expires here: what the Ledger holds, it forgets by its own rules."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def append(self, lines: Sequence[Line]) -> None:
        entries = [line.entry for line in reversed(lines)]
        rows = {(entry.conversation_id, entry.position): talk_rows.entry_row(entry) for entry in entries}
        await self._engine.transact(each("entry_append", [rows[key] for key in sorted(rows)]))

    async def page(self, before: Spot, limit: int) -> Sequence[Entry]:
        found = await self._engine.read("entries_before", before.conversation_id, before.position, limit)
        return [talk_rows.entry(row) for row in found]

    async def some(self, spots: Sequence[Spot]) -> Sequence[Entry]:
        wanted = sorted({(spot.conversation_id, spot.position) for spot in spots})
        found = await self._engine.transact(each("entry_find", wanted))
        return [talk_rows.entry(row) for row in found]

    async def erase(self, spots: Sequence[Spot], at: Instant) -> None:
        gone = sorted({(spot.conversation_id, spot.position, at) for spot in spots})
        await self._engine.transact(each("entry_erase", gone))

    async def settle(self, marks: Sequence[Mark]) -> None:
        highest: dict[tuple[int, int], Mark] = {}
        for mark in sorted(marks, key=_standing):
            highest[mark.spot.conversation_id, mark.spot.position] = mark
        rows = [(*key, highest[key].status, _standing(highest[key])) for key in sorted(highest)]
        await self._engine.transact(each("entry_settle", rows))

    async def ping(self) -> None:
        await self._engine.ping()

    async def close(self) -> None:
        """The Ledger closes what it is in."""


def _standing(mark: Mark) -> int:
    return mark.generation * 10 + mark.rank

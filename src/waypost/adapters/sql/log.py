"""The Log in the Ledger's own tables: what the kernel stores is kept by that."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql import talk_rows
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Plan, Row, each
from waypost.model.conversation import ConversationId, Entry, Position
from waypost.model.time import Instant


class SqlLog:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def append(self, entries: Sequence[Entry]) -> None:
        rows = {(entry.conversation_id, entry.position): talk_rows.entry_row(entry) for entry in reversed(entries)}
        await self._engine.transact(_append([rows[key] for key in sorted(rows)]))

    async def page(self, conversation: ConversationId, before: Position, limit: int) -> Sequence[Entry]:
        found = await self._engine.read("entries_before", conversation, before, limit)
        return [talk_rows.entry(row) for row in found]

    async def erase(self, conversation: ConversationId, position: Position, at: Instant) -> None:
        await self._engine.transact(_erase(conversation, position, at))


def _append(rows: Sequence[Row]) -> Plan[None]:
    yield from each("entry_append", rows)


def _erase(conversation: ConversationId, position: Position, at: Instant) -> Plan[None]:
    yield from each("entry_erase", [(conversation, position, at)])

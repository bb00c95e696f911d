"""History in the Ledger's own tables, where the kernel has stored the entries already."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import each
from waypost.adapters.sql.rows import conversation_rows
from waypost.model.conversation import ArchiveKey, Entry
from waypost.model.time import Instant
from waypost.ports.history.history import ArchivedStatus, ArchiveEntry, StoredEntry


class SqlHistory:
    """Nothing expires here: maintenance prunes the Ledger."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def append(self, lines: Sequence[ArchiveEntry]) -> None:
        entries = [line.entry for line in reversed(lines)]
        rows = {(entry.conversation_id, entry.position): conversation_rows.entry_row(entry) for entry in entries}
        await self._engine.transact(each("entry_append", [rows[key] for key in sorted(rows)]))

    async def page(self, before: ArchiveKey, limit: int) -> Sequence[Entry]:
        found = await self._engine.read("entries_before", before.conversation_id, before.position, limit)
        return [conversation_rows.entry(row) for row in found]

    async def some(self, keys: Sequence[ArchiveKey]) -> Sequence[Entry]:
        wanted = sorted({(key.conversation_id, key.position) for key in keys})
        found = await self._engine.transact(each("entry_find", wanted))
        return [conversation_rows.entry(row) for row in found]

    async def stored(self, keys: Sequence[ArchiveKey]) -> Sequence[StoredEntry]:
        """An entry whose body is only in another history store is not stored here."""
        here = [entry for entry in await self.some(keys) if not entry.is_archived]
        return [StoredEntry(one.conversation_id, one.id_at, one.deleted_at is not None) for one in here]

    async def erase(self, keys: Sequence[ArchiveKey], at: Instant) -> None:
        gone = sorted({(key.conversation_id, key.position, at) for key in keys})
        await self._engine.transact(each("entry_erase", gone))

    async def settle(self, marks: Sequence[ArchivedStatus]) -> None:
        highest: dict[tuple[int, int], ArchivedStatus] = {}
        for mark in sorted(marks, key=_status_rank):
            highest[mark.archive_key.conversation_id, mark.archive_key.position] = mark
        rows = [(*key, highest[key].status, _status_rank(highest[key])) for key in sorted(highest)]
        await self._engine.transact(each("entry_settle", rows))

    async def ping(self) -> None:
        await self._engine.ping()

    async def close(self) -> None:
        """The Ledger owns the engine and closes it."""


def _status_rank(mark: ArchivedStatus) -> int:
    return mark.generation * 10 + mark.rank

"""History in memory, for simulations and tests; keyed by archive key, like an external store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from waypost.model.conversation import ArchiveKey, ConversationId, Entry
from waypost.model.time import Instant
from waypost.ports.history.history import ArchivedStatus, ArchiveEntry, StoredEntry

EntryKey = tuple[ConversationId, Instant]
"""The parts of an archive key that never change; a position may."""


class MemoryHistory:
    """Nothing expires here."""

    def __init__(self) -> None:
        self.kept: dict[EntryKey, Entry] = {}
        self._ranks: dict[EntryKey, int] = {}

    async def append(self, lines: Sequence[ArchiveEntry]) -> None:
        for line in lines:
            key_ = line.entry.archive_key
            here = {"conversation_id": key_.conversation_id, "id_at": key_.id_at, "kept_in": None, "kept_at": None}
            self.kept.setdefault(_key(key_), replace(line.entry, deleted_at=None, status=None, **here))

    async def page(self, before: ArchiveKey, limit: int) -> Sequence[Entry]:
        earlier = [key for key in self.kept if key[0] == before.conversation_id and key[1] < before.id_at]
        return [self.kept[key] for key in sorted(earlier, reverse=True)[:limit]]

    async def some(self, keys: Sequence[ArchiveKey]) -> Sequence[Entry]:
        wanted = dict.fromkeys(map(_key, keys))
        return [self.kept[key] for key in wanted if key in self.kept]

    async def stored(self, keys: Sequence[ArchiveKey]) -> Sequence[StoredEntry]:
        wanted = dict.fromkeys(map(_key, keys))
        return [StoredEntry(*key, self.kept[key].deleted_at is not None) for key in wanted if key in self.kept]

    async def erase(self, keys: Sequence[ArchiveKey], at: Instant) -> None:
        for key in map(_key, keys):
            if key in self.kept:
                self.kept[key] = replace(self.kept[key], type="deleted", body="{}", deleted_at=at)

    async def settle(self, marks: Sequence[ArchivedStatus]) -> None:
        for mark in marks:
            key, rank = _key(mark.archive_key), mark.generation * 10 + mark.rank
            if key in self.kept and rank > self._ranks.get(key, -1):
                self._ranks[key] = rank
                self.kept[key] = replace(self.kept[key], status=mark.status)

    def forget(self, keys: Iterable[EntryKey]) -> None:
        """Lose entries, as a store does that crashes before they are on its disk."""
        for key in keys:
            self.kept.pop(key, None)
            self._ranks.pop(key, None)

    async def ping(self) -> None:
        """Always available."""

    async def close(self) -> None:
        """Nothing to close."""


def _key(key_: ArchiveKey) -> EntryKey:
    return key_.conversation_id, key_.id_at

"""History: the long-term store of all messages, read backwards from any position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from waypost.model.conversation import ArchiveKey, Entry
from waypost.model.history import ArchivedStatus, ArchiveEntry, StoredEntry
from waypost.model.time import Instant

__all__ = ["ArchiveEntry", "ArchivedStatus", "History", "StoredEntry"]


class History(Protocol):
    """A copy of what the Ledger has decided. Every call is idempotent and may come late or twice."""

    async def append(self, lines: Sequence[ArchiveEntry]) -> None:
        """Store these under their archive keys, in any order; an existing entry stays, even if it was erased since."""

    async def page(self, before: ArchiveKey, limit: int) -> Sequence[Entry]:
        """The latest entries of a conversation before a key, newest first, equally fast at any depth. Erased entries
        keep their position; the key itself need not exist."""

    async def some(self, spots: Sequence[ArchiveKey]) -> Sequence[Entry]:
        """The entries that exist under these keys, from any conversations, in any order, each once."""

    async def stored(self, spots: Sequence[ArchiveKey]) -> Sequence[StoredEntry]:
        """As `some`, but only whether each exists and is erased: no body is read."""

    async def erase(self, spots: Sequence[ArchiveKey], at: Instant) -> None:
        """Erase these entries permanently but keep their positions. An entry that is not stored is ignored, so a caller
        must append it first."""

    async def settle(self, marks: Sequence[ArchivedStatus]) -> None:
        """Store the delivery statuses of entries; those of entries that are not stored are ignored."""

    async def ping(self) -> None:
        """Raise Unavailable unless it answers."""

    async def close(self) -> None: ...

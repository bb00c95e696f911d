"""Entries on their way from the Ledger to history."""

from __future__ import annotations

import msgspec

from waypost.model.conversation import ArchiveKey, Entry
from waypost.model.ids import OrgId
from waypost.model.message import Status
from waypost.model.time import Instant


class PendingArchiveEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An entry to archive, in its current state."""

    org_id: OrgId
    entry: Entry
    status: Status | None = None
    """Of its outbound message, if it has one."""
    was_read: bool = False
    generation: int = 1


class ArchiveEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry to append to history."""

    entry: Entry
    expires_at: Instant | None = None
    """When history deletes it; None: never."""


class ArchivedStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The delivery status of an entry. A later generation wins; within one, the higher rank, in any order."""

    archive_key: ArchiveKey
    status: str
    generation: int
    rank: int
    """0 to 9"""
    expires_at: Instant | None = None

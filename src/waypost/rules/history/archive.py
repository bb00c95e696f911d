"""The batch to archive: entries, erasures and delivery statuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from waypost.model.conversation import ArchiveKey
from waypost.model.history import ArchivedStatus, ArchiveEntry, PendingArchiveEntry
from waypost.model.ids import OrgId
from waypost.model.time import Instant, Span
from waypost.rules.conversations.chat_status import RANKS, chat_status

LARGEST_BODY = 1024 * 1024
"""Characters, at most 4 MiB. A longer body stays in the Ledger: Cassandra accepts at most half a commit log segment,
16 MiB by default, and a refused body would block all later items of its feed. Normal messages are shorter: 64 KiB
outbound, 16 Ki characters in a chat. But a webhook has up to 3 MiB, and escaping unreadable parts of it can make it
18 MiB."""

RetentionOf: TypeAlias = Callable[[OrgId], Span | None]
"""How long an org's messages stay in history; None: forever."""


class ArchiveBatch(NamedTuple):
    lines: list[ArchiveEntry]
    erased: dict[Instant, list[ArchiveKey]]
    """By time of deletion; to apply after `lines`, since only stored entries can be erased."""
    marks: list[ArchivedStatus]
    """To apply after `lines`."""
    too_large: int
    """Number of entries left out, which stay in the Ledger."""


def archive_batch(waiting: Iterable[PendingArchiveEntry], kept_for: RetentionOf, now: Instant) -> ArchiveBatch:
    """Each entry once, without bodies that are already only in history, and without expired or too large entries."""
    lines: dict[ArchiveKey, ArchiveEntry] = {}
    marks: dict[ArchiveKey, ArchivedStatus] = {}
    erased: dict[Instant, dict[ArchiveKey, None]] = {}
    too_large: set[ArchiveKey] = set()
    for one in waiting:
        key, expires_at = one.entry.archive_key, expiry(one.entry.archive_key, kept_for(one.org_id))
        if expires_at is not None and expires_at <= now:
            continue
        if is_too_large(one.entry.body):
            too_large.add(key)
            continue
        if not one.entry.is_archived:
            lines[key] = ArchiveEntry(entry=one.entry, expires_at=expires_at)
        if one.entry.deleted_at is not None:
            erased.setdefault(one.entry.deleted_at, {})[key] = None
        if (mark := _mark(one, expires_at)) is not None:
            marks[key] = mark
    taken_back = {at: list(keys) for at, keys in erased.items()}
    return ArchiveBatch(list(lines.values()), taken_back, list(marks.values()), len(too_large))


def is_too_large(body: str) -> bool:
    return len(body) > LARGEST_BODY


def expiry(key: ArchiveKey, kept_for: Span | None) -> Instant | None:
    return None if kept_for is None else Instant(key.id_at + kept_for)


def has_expired(one: PendingArchiveEntry, kept_for: Span | None, now: Instant) -> bool:
    """Whether history no longer keeps it."""
    at = expiry(one.entry.archive_key, kept_for)
    return at is not None and at <= now


def _mark(one: PendingArchiveEntry, expires_at: Instant | None) -> ArchivedStatus | None:
    shown = chat_status(one.status, one.was_read) if one.status is not None else None
    if shown is None:
        return None
    return ArchivedStatus(
        archive_key=one.entry.archive_key,
        status=shown,
        generation=one.generation,
        rank=RANKS[shown],
        expires_at=expires_at,
    )

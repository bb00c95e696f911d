"""A message's bucket, id and write times, all derived from its archive key."""

from __future__ import annotations

from typing import NamedTuple

from waypost.model.conversation import ArchiveKey
from waypost.model.time import Instant, days, from_unix
from waypost.ports.history.history import ArchivedStatus

BUCKET = days(10)

_GREGORIAN = 0x01B21DD213814000
"""From the UUID epoch to the Unix epoch, in units of 100 ns."""
_NODE = "8000-010000000000"
"""Clock sequence and node are constant: no two messages of a conversation share a time."""

_LATEST = from_unix(2**31 - 2)
"""Cassandra refuses an expiry after 2038-01-19."""
_NEVER = 10**15
"""As a write time: later than every possible expiry in seconds, but long past for any clock."""


class MessageKey(NamedTuple):
    """The primary key of a message."""

    conversation_id: int
    bucket: int
    message_id: str


def bucket_of(moment: Instant) -> int:
    return moment // BUCKET


def place_of(key: ArchiveKey) -> MessageKey:
    return MessageKey(key.conversation_id, bucket_of(key.id_at), timeuuid(key.id_at))


def timeuuid(moment: Instant) -> str:
    ticks = moment * 10 + _GREGORIAN
    return f"{ticks & 0xFFFFFFFF:08x}-{ticks >> 32 & 0xFFFF:04x}-1{ticks >> 48 & 0xFFF:03x}-{_NODE}"


def moment_of(message_id: str) -> Instant:
    ticks = int(message_id[15:18] + message_id[9:13] + message_id[:8], 16)
    return Instant((ticks - _GREGORIAN) // 10)


def put_time(key: ArchiveKey) -> int:
    return key.id_at


def erase_time(key: ArchiveKey) -> int:
    """Later than the write time of every append of the message."""
    return key.id_at + 1


def settle_time(mark: ArchivedStatus) -> int:
    """Grows with generation and rank, and stays close to the row's other times, because files are dropped by time."""
    return mark.archive_key.id_at + mark.generation * 10 + mark.rank


def ttl(expires_at: Instant | None, now: Instant) -> int | None:
    """Remaining whole seconds, at least one; None if it never expires, or later than Cassandra can represent."""
    if expires_at is None or expires_at > _LATEST:
        return None
    return max(1, -((now - expires_at) // 1_000_000))


def has_expired(expires_at: Instant | None, now: Instant) -> bool:
    return expires_at is not None and expires_at <= now


def listed_until(expires_at: Instant | None) -> Instant | None:
    """A bucket outlives its messages; rounding the time up avoids listing it again for each."""
    if expires_at is None:
        return None
    later = Instant((expires_at // BUCKET + 2) * BUCKET)
    return None if later > _LATEST else later


def listing_time(until: Instant | None) -> int:
    """The listing that lives longer has the later write time; none is in the future."""
    return _NEVER if until is None else until // 1_000_000

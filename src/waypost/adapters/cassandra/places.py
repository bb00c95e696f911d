"""Where and when a message is written: its bucket, its id and its write times, all made of its spot alone."""

from __future__ import annotations

from typing import NamedTuple

from waypost.model.conversation import Spot
from waypost.model.time import Instant, days, from_unix
from waypost.ports.log import Mark

BUCKET = days(10)

_GREGORIAN = 0x01B21DD213814000
"""Between the beginning of time for a UUID and ours, in its units of 100 ns."""
_NODE = "8000-010000000000"
"""Clock sequence and node are the same for all: no two messages of a conversation share their time."""

_LATEST = from_unix(2**31 - 2)
"""Cassandra counts expiry up to 2038-01-19 and refuses what is later."""
_NEVER = 10**15
"""As a time of writing: later than every second that something can expire in, and long past for any clock."""


class Place(NamedTuple):
    """The primary key of a message."""

    conversation_id: int
    bucket: int
    message_id: str


def bucket_of(moment: Instant) -> int:
    return moment // BUCKET


def place_of(spot: Spot) -> Place:
    return Place(spot.conversation_id, bucket_of(spot.id_at), timeuuid(spot.id_at))


def timeuuid(moment: Instant) -> str:
    ticks = moment * 10 + _GREGORIAN
    return f"{ticks & 0xFFFFFFFF:08x}-{ticks >> 32 & 0xFFFF:04x}-1{ticks >> 48 & 0xFFF:03x}-{_NODE}"


def moment_of(message_id: str) -> Instant:
    ticks = int(message_id[15:18] + message_id[9:13] + message_id[:8], 16)
    return Instant((ticks - _GREGORIAN) // 10)


def put_time(spot: Spot) -> int:
    return spot.id_at


def erase_time(spot: Spot) -> int:
    """Later than every append of it, however late that comes."""
    return spot.id_at + 1


def settle_time(mark: Mark) -> int:
    """It grows with generation and rank, and stays near the others of its row: files are dropped by their times."""
    return mark.spot.id_at + mark.generation * 10 + mark.rank


def ttl(expires_at: Instant | None, now: Instant) -> int | None:
    """Whole seconds that are left, at least one; None is for ever, also for what expires later than can be counted."""
    if expires_at is None or expires_at > _LATEST:
        return None
    return max(1, -((now - expires_at) // 1_000_000))


def has_expired(expires_at: Instant | None, now: Instant) -> bool:
    return expires_at is not None and expires_at <= now


def listed_until(expires_at: Instant | None) -> Instant | None:
    """A bucket outlives what is in it, by few different times, so that it is seldom listed again."""
    if expires_at is None:
        return None
    later = Instant((expires_at // BUCKET + 2) * BUCKET)
    return None if later > _LATEST else later


def listing_time(until: Instant | None) -> int:
    """Of two listings the one that lives longer was written later; none was written in the future."""
    return _NEVER if until is None else until // 1_000_000

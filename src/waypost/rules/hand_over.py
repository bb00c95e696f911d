"""What the Log is handed of what the feeds told: bodies, what was taken back, and how far a message came."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from waypost.model.conversation import Spot
from waypost.model.ids import OrgId
from waypost.model.log import Line, Mark, Waiting
from waypost.model.time import Instant, Span
from waypost.rules.chat_status import RANKS, chat_status

LARGEST_BODY = 1024 * 1024
"""Characters, at most 4 MiB. What is longer stays in the Ledger: Cassandra takes no more than half a segment of its
commit log, 16 MiB unless somebody made it smaller, and one body that it refuses would hold up all that comes after it
in its feed. What people write is never so long: 64 KiB in an outbound message, 16 Ki characters in a chat. But a
webhook has up to 3 MiB, and what cannot be read in it is written out, which makes up to 18 MiB of it."""

KeptFor: TypeAlias = Callable[[OrgId], Span | None]
"""How long an org's messages stay in the Log; None: for ever."""


class Parcel(NamedTuple):
    lines: list[Line]
    erased: dict[Instant, list[Spot]]
    """By when they were taken back; after the lines, since only what is there can be erased."""
    marks: list[Mark]
    """After the lines, too."""
    too_large: int
    """Left out: so many stay where they are."""


def parcel(waiting: Iterable[Waiting], kept_for: KeptFor, now: Instant) -> Parcel:
    """Each entry once. What is only in the Log is not handed over again, what would be forgotten at once, or
    is too large, not at all."""
    lines: dict[Spot, Line] = {}
    marks: dict[Spot, Mark] = {}
    erased: dict[Instant, dict[Spot, None]] = {}
    too_large: set[Spot] = set()
    for one in waiting:
        spot, expires_at = one.entry.spot, expiry(one.entry.spot, kept_for(one.org_id))
        if expires_at is not None and expires_at <= now:
            continue
        if is_too_large(one.entry.body):
            too_large.add(spot)
            continue
        if not one.entry.is_away:
            lines[spot] = Line(entry=one.entry, expires_at=expires_at)
        if one.entry.deleted_at is not None:
            erased.setdefault(one.entry.deleted_at, {})[spot] = None
        if (mark := _mark(one, expires_at)) is not None:
            marks[spot] = mark
    taken_back = {at: list(spots) for at, spots in erased.items()}
    return Parcel(list(lines.values()), taken_back, list(marks.values()), len(too_large))


def is_too_large(body: str) -> bool:
    return len(body) > LARGEST_BODY


def expiry(spot: Spot, kept_for: Span | None) -> Instant | None:
    return None if kept_for is None else Instant(spot.id_at + kept_for)


def has_expired(one: Waiting, kept_for: Span | None, now: Instant) -> bool:
    """Whether the Log keeps it no longer."""
    at = expiry(one.entry.spot, kept_for)
    return at is not None and at <= now


def _mark(one: Waiting, expires_at: Instant | None) -> Mark | None:
    shown = chat_status(one.status, one.was_read) if one.status is not None else None
    if shown is None:
        return None
    return Mark(spot=one.entry.spot, status=shown, generation=one.generation, rank=RANKS[shown], expires_at=expires_at)

"""Quiet hours: when a message may be sent by the recipient's local time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo

import msgspec

from waypost.model.policy import QuietHours
from waypost.model.time import Instant, Span, days, from_datetime, to_datetime

LONGEST: Span = days(2)
"""If the time zones of a number leave no free moment within this, only the org's own zone counts."""
_ROUNDS = 16


class Hours(msgspec.Struct, frozen=True):
    start: time
    end: time

    def cover(self, clock: time) -> bool:
        """Includes the start, excludes the end."""
        if self.start < self.end:
            return self.start <= clock < self.end
        return clock >= self.start or clock < self.end


def hours(quiet: QuietHours) -> Hours:
    return Hours(time.fromisoformat(quiet.start), time.fromisoformat(quiet.end))


def is_exempt(quiet: QuietHours, priority: int) -> bool:
    return quiet.exempt_priority is not None and priority >= quiet.exempt_priority


def is_quiet(asked: Hours, zone: tzinfo, now: Instant) -> bool:
    return asked.cover(_local(now, zone).time())


def quiet_until(asked: Hours, zones: Sequence[tzinfo], default: tzinfo, now: Instant) -> Instant | None:
    """When quiet hours have ended in all of the zones; None if that is now.

    A number with several possible zones counts as being in all of them.
    """
    at = _first_free(asked, zones or (default,), now)
    if at is None:
        at = _first_free(asked, (default,), now) or now
    return at if at > now else None


def _first_free(asked: Hours, zones: Sequence[tzinfo], now: Instant) -> Instant | None:
    at = now
    for _ in range(_ROUNDS):
        after = max(_end(asked, zone, at) for zone in zones)
        if after == at:
            return at
        at = after
        if at > now + LONGEST:
            return None
    return None


def _end(asked: Hours, zone: tzinfo, at: Instant) -> Instant:
    """The moment itself, or the end of the quiet hours that contain it, in this zone."""
    local = _local(at, zone)
    if not asked.cover(local.time()):
        return at
    for day in (local.date(), local.date() + timedelta(days=1)):
        # With daylight saving changes an hour may come twice or be skipped.
        for fold in (0, 1):
            end = from_datetime(datetime.combine(day, asked.end, zone).replace(fold=fold).astimezone(UTC))
            if end > at and not is_quiet(asked, zone, end):
                return end
    return Instant(at + days(1))  # no real zone skips the end two days in a row


def _local(moment: Instant, zone: tzinfo) -> datetime:
    return to_datetime(moment).astimezone(zone)

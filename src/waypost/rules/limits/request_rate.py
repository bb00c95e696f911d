"""The request rate of a caller: a token bucket that fills evenly and holds a burst."""

from __future__ import annotations

import math

import msgspec

from waypost.model.policy import RequestRate
from waypost.model.time import Instant, Span, as_seconds


def interval(rate: RequestRate) -> Span:
    return Span(max(1, round(1_000_000 / rate.per_second)))


class RateLimited(msgspec.Struct, frozen=True):
    wait: Span


def draw(full_at: Instant, rate: RequestRate, now: Instant) -> Instant | RateLimited:
    """When the bucket is full again after one more request, or how long to wait before it."""
    step = interval(rate)
    furthest = now + step * rate.burst  # a later time was drawn before a clock was set back
    after = (max(full_at, now) if full_at <= furthest else now) + step
    over = after - now - step * rate.burst
    return RateLimited(Span(over)) if over > 0 else Instant(after)


def retry_after(wait: Span) -> str:
    """Whole seconds for the Retry-After header."""
    return str(max(1, math.ceil(as_seconds(wait))))

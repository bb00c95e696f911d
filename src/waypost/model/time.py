"""Instants and spans in whole microseconds, so that both databases and the simulation agree exactly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NewType

Instant = NewType("Instant", int)
"""Microseconds since 1970-01-01T00:00:00Z."""

Span = NewType("Span", int)
"""Microseconds between two instants."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def seconds(value: float) -> Span:
    return Span(round(value * 1_000_000))


def minutes(value: float) -> Span:
    return seconds(value * 60)


def hours(value: float) -> Span:
    return seconds(value * 3600)


def days(value: float) -> Span:
    return seconds(value * 86_400)


def as_seconds(span: int) -> float:
    return span / 1_000_000


def after(moment: Instant, span: Span) -> Instant:
    return Instant(moment + span)


def from_unix(value: float) -> Instant:
    return Instant(round(value * 1_000_000))


def from_datetime(value: datetime) -> Instant:
    """A naive datetime is taken as UTC."""
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return Instant((aware - _EPOCH) // timedelta(microseconds=1))


def to_datetime(moment: Instant) -> datetime:
    return _EPOCH + timedelta(microseconds=moment)

"""Latency figures for dashboards."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from waypost.model.message import Status
from waypost.model.time import Instant, as_seconds


class Percentiles(msgspec.Struct, frozen=True, kw_only=True):
    """Percentiles in seconds; None without values."""

    count: int
    p50: float | None
    p95: float | None
    p99: float | None


class MessageStats(msgspec.Struct, frozen=True, kw_only=True):
    counts: Mapping[Status, int]
    retries: Mapping[int, int]
    looked_at: int
    queued_to_sent: Percentiles
    sent_to_delivered: Percentiles


def percentile(ordered: Sequence[float], part: float) -> float | None:
    """The smallest value that at least this fraction of the values does not exceed."""
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else None


def spread(values: Sequence[float]) -> Percentiles:
    ordered = sorted(values)
    return Percentiles(
        count=len(ordered),
        p50=percentile(ordered, 0.5),
        p95=percentile(ordered, 0.95),
        p99=percentile(ordered, 0.99),
    )


def figures(
    counts: Mapping[Status, int],
    retries: Mapping[int, int],
    times: Sequence[tuple[Instant, Instant | None, Instant | None]],
) -> MessageStats:
    """`times` are (wanted, sent, delivered); clocks differ, so negative durations count as 0."""
    sending = [max(0.0, as_seconds(sent - wanted)) for wanted, sent, _ in times if sent is not None]
    arriving = [
        max(0.0, as_seconds(there - sent)) for _, sent, there in times if sent is not None and there is not None
    ]
    return MessageStats(
        counts=counts,
        retries=retries,
        looked_at=len(times),
        queued_to_sent=spread(sending),
        sent_to_delivered=spread(arriving),
    )

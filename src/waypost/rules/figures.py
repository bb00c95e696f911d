"""How long messages took, in the figures that dashboards show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from waypost.model.message import Status
from waypost.model.time import Instant, as_seconds


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that half, 95 % and 99 % of them did not exceed; None where there is nothing to measure."""

    count: int
    p50: float | None
    p95: float | None
    p99: float | None


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    counts: Mapping[Status, int]
    retries: Mapping[int, int]
    looked_at: int
    queued_to_sent: Spread
    sent_to_delivered: Spread


def percentile(ordered: Sequence[float], part: float) -> float | None:
    """The smallest value that at least this part of them does not exceed."""
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else None


def spread(values: Sequence[float]) -> Spread:
    ordered = sorted(values)
    return Spread(
        count=len(ordered),
        p50=percentile(ordered, 0.5),
        p95=percentile(ordered, 0.95),
        p99=percentile(ordered, 0.99),
    )


def figures(
    counts: Mapping[Status, int],
    retries: Mapping[int, int],
    times: Sequence[tuple[Instant, Instant | None, Instant | None]],
) -> Figures:
    """`times` are (wanted, sent, delivered); clocks differ, so nothing takes less than no time."""
    sending = [max(0.0, as_seconds(sent - wanted)) for wanted, sent, _ in times if sent is not None]
    arriving = [
        max(0.0, as_seconds(there - sent)) for _, sent, there in times if sent is not None and there is not None
    ]
    return Figures(
        counts=counts,
        retries=retries,
        looked_at=len(times),
        queued_to_sent=spread(sending),
        sent_to_delivered=spread(arriving),
    )

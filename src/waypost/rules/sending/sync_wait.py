"""How long a synchronous request waits for a status."""

from __future__ import annotations

import math
from collections.abc import Sequence

ENOUGH = 100
"""The minimum number of samples for a percentile."""

PERCENTILE = 0.999
SHORTEST = 0.05


def adaptive_limit(recent: Sequence[float], configured: float) -> float:
    """The 99.9th percentile of recent waits, at most `configured`."""
    if len(recent) < ENOUGH:
        return configured
    ordered = sorted(recent)
    rank = min(len(ordered) - 1, math.ceil(PERCENTILE * len(ordered)) - 1)
    return min(configured, max(SHORTEST, ordered[rank]))

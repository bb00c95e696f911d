"""Parsing of the Retry-After header."""

from __future__ import annotations

import math


def retry_after_seconds(value: str | None) -> float | None:
    """Seconds to wait; None for a date, which is rare and depends on the sender's clock."""
    try:
        seconds = float(value) if value else math.nan
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None

"""How long the other side asks us to wait, from its Retry-After."""

from __future__ import annotations

import math


def seconds_told(value: str | None) -> float | None:
    """A date is not read: who sends one to a program is rare, and its clock is not ours."""
    try:
        told = float(value) if value else math.nan
    except ValueError:
        return None
    return max(0.0, told) if math.isfinite(told) else None

"""When a machine's clock is so far from the Ledger's that an operator should know."""

from __future__ import annotations

from waypost.model.time import Span, as_seconds, seconds

TOLERATED: Span = seconds(2)


def is_off(ahead: Span) -> bool:
    return abs(ahead) > TOLERATED


def warning(ahead: Span) -> str | None:
    """What to tell an operator; None if there is nothing to tell."""
    if not is_off(ahead):
        return None
    how = f"{as_seconds(abs(ahead)):.1f} s {'ahead of' if ahead > 0 else 'behind'}"
    return f"this machine's clock is {how} the database's: nothing is decided by it, but run an NTP client"

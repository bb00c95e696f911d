"""How fast one customer may be written to: one message in six seconds, with bursts that are waited for afterwards."""

from __future__ import annotations

from msgspec.structs import replace

from waypost.model.pair import Pair
from waypost.model.time import Instant, Span, seconds

STEP: Span = seconds(6)
BURST = 45
SKEW: Span = seconds(60)
"""How far the clocks of two servers may reasonably differ."""


def put_off(pair: Pair, now: Instant, burst: int = BURST) -> Instant | None:
    """Until when this customer must be left alone, if so."""
    if now < pair.blocked_until:
        return pair.blocked_until
    ahead = Instant(_free_at(pair, now, burst) - STEP * (burst - 1))
    return ahead if now < ahead else None


def drawn(pair: Pair, now: Instant, burst: int = BURST) -> Pair:
    """One more message goes."""
    return replace(pair, free_at=Instant(_free_at(pair, now, burst) + STEP))


def _free_at(pair: Pair, now: Instant, burst: int) -> Instant:
    """Nobody draws further ahead than a burst: what is further off was written before a clock was set back."""
    return now if pair.free_at > now + STEP * burst + SKEW else Instant(max(pair.free_at, now))

"""The pace per customer: one message in six seconds on average, with bursts."""

from __future__ import annotations

from msgspec.structs import replace

from waypost.model.recipient_state import RecipientState
from waypost.model.time import Instant, Span, seconds

STEP: Span = seconds(6)
BURST = 45
SKEW: Span = seconds(60)
"""Maximum plausible difference between the clocks of two servers."""


def blocked_until(recipient: RecipientState, now: Instant, burst: int = BURST) -> Instant | None:
    """Until when nothing may be sent to this customer; None if sending is allowed."""
    if now < recipient.blocked_until:
        return recipient.blocked_until
    ahead = Instant(_free_at(recipient, now, burst) - STEP * (burst - 1))
    return ahead if now < ahead else None


def record_send(recipient: RecipientState, now: Instant, burst: int = BURST) -> RecipientState:
    """The state after one more message."""
    return replace(recipient, free_at=Instant(_free_at(recipient, now, burst) + STEP))


def _free_at(recipient: RecipientState, now: Instant, burst: int) -> Instant:
    """A value further ahead than a burst was written before a clock was set back, and is ignored."""
    return now if recipient.free_at > now + STEP * burst + SKEW else Instant(max(recipient.free_at, now))

"""The customer service window: 24 hours after a customer's message, freeform messages are allowed."""

from __future__ import annotations

from msgspec.structs import replace

from waypost.model.recipient_state import RecipientState
from waypost.model.time import Instant, Span, days

LENGTH: Span = days(1)


def is_open(expires_at: Instant | None, now: Instant) -> bool:
    """Closed exactly 24 hours later."""
    return expires_at is not None and now < expires_at


def record_inbound(recipient: RecipientState, at: Instant) -> RecipientState:
    """The customer wrote at `at`, however late we receive it: a window is extended, never shortened."""
    if recipient.last_inbound_at is not None and at <= recipient.last_inbound_at:
        opened = at if _continues(at, recipient.opened_at) else recipient.opened_at
        return replace(recipient, opened_at=opened) if opened != recipient.opened_at else recipient
    opened_at = recipient.opened_at if recipient.opened_at is not None and is_open(recipient.expires_at, at) else at
    return replace(recipient, opened_at=opened_at, last_inbound_at=at, expires_at=Instant(at + LENGTH))


def _continues(at: Instant, opened_at: Instant | None) -> bool:
    """Whether a late older message belongs to the current window."""
    return opened_at is not None and at < opened_at < at + LENGTH

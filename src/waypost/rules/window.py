"""The 24 hours after a customer's own message in which we may answer freely."""

from __future__ import annotations

from msgspec.structs import replace

from waypost.model.pair import Pair
from waypost.model.time import Instant, Span, days

LENGTH: Span = days(1)


def is_open(expires_at: Instant | None, now: Instant) -> bool:
    """Exactly 24 hours later it is closed."""
    return expires_at is not None and now < expires_at


def written(pair: Pair, at: Instant) -> Pair:
    """The customer wrote at that moment, whenever we hear of it: a window is prolonged, never shortened."""
    if pair.last_inbound_at is not None and at <= pair.last_inbound_at:
        opened = at if _continues(at, pair.opened_at) else pair.opened_at
        return replace(pair, opened_at=opened) if opened != pair.opened_at else pair
    opened_at = pair.opened_at if pair.opened_at is not None and is_open(pair.expires_at, at) else at
    return replace(pair, opened_at=opened_at, last_inbound_at=at, expires_at=Instant(at + LENGTH))


def _continues(at: Instant, opened_at: Instant | None) -> bool:
    """An older message, heard late, from which the present window ran on."""
    return opened_at is not None and at < opened_at < at + LENGTH

"""How fast the sandbox acts and how much it remembers."""

from __future__ import annotations

import msgspec

from waypost.model.time import Span, minutes, seconds


class Timing(msgspec.Struct, frozen=True):
    sent_after: Span = seconds(0.02)
    """From acceptance to the `sent` status."""
    delivered_after: Span = seconds(0.05)
    """From acceptance to the `delivered` status."""
    retry_first: Span = seconds(0.5)
    """Pause before a webhook that was not answered 200 is tried again; it doubles each time."""
    retry_most: Span = seconds(5)
    retry_for: Span = minutes(10)
    webhook_timeout: float = 20.0
    """Seconds."""


class Keep(msgspec.Struct, frozen=True):
    """Beyond these the oldest is forgotten, so that a long run cannot fill the memory."""

    calls: int = 200_000
    messages: int = 200_000
    """On all screens together."""
    contacts: int = 200_000
    media_bytes: int = 256 * 1024 * 1024

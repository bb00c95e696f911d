"""The sandbox's timing and memory limits."""

from __future__ import annotations

import msgspec

from waypost.model.time import Span, minutes, seconds


class SandboxTiming(msgspec.Struct, frozen=True):
    sent_after: Span = seconds(0.02)
    """From acceptance to the `sent` status."""
    delivered_after: Span = seconds(0.05)
    """From acceptance to the `delivered` status."""
    retry_first: Span = seconds(0.5)
    """Pause before the first retry of a webhook that was not answered with 200; it doubles each time."""
    retry_most: Span = seconds(5)
    retry_for: Span = minutes(10)
    webhook_timeout: float = 20.0
    """Seconds."""


class SandboxLimits(msgspec.Struct, frozen=True):
    """Beyond these limits the oldest entries are dropped; the control API counts the calls and messages among them."""

    call_bytes: int = 128 * 1024 * 1024
    message_bytes: int = 128 * 1024 * 1024
    """On all screens together."""
    contacts: int = 200_000
    media_bytes: int = 256 * 1024 * 1024

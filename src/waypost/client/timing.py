"""The client's timeouts and intervals in milliseconds, explained in docs/reference/client-behaviour.md."""

from __future__ import annotations

import msgspec


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    hold: float = 500
    ack_timeout: float = 5_000
    ack_every: float = 200
    backoff_base: float = 500
    backoff_cap: float = 30_000
    going_away: float = 5_000
    open_timeout: float = 10_000
    upgrade_base: float = 5_000
    upgrade_cap: float = 300_000
    poll_wait: float = 25_000
    heartbeat: float | None = None
    """None means the interval in `welcome`."""

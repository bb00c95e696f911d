"""Decides whether and when the client reconnects: backoff, close codes and empty polls (B13, B14, B16)."""

from __future__ import annotations

import msgspec

GOING_AWAY = 4001
NOT_AUTHENTICATED = 4401
FORBIDDEN = 4403
_STOP_CODES = range(4400, 5000)
_LARGEST_POWER = 40
"""Beyond any cap; keeps the power finite after many failures."""


class Reconnect(msgspec.Struct, frozen=True):
    after: float
    """Milliseconds."""
    failed: bool
    """Whether it counts as a failure."""


class StopReconnecting(msgspec.Struct, frozen=True):
    code: int


def backoff(failures: int, random: float, base: float, cap: float) -> float:
    """The wait in milliseconds after a failure that follows this many in a row."""
    return min(cap, base * 2.0 ** min(failures, _LARGEST_POWER)) * (0.5 + random / 2)


class ReconnectDelays(msgspec.Struct, frozen=True):
    base: float
    cap: float
    going_away: float


def after_close(code: int, failures: int, random: float, delays: ReconnectDelays) -> Reconnect | StopReconnecting:
    """What to do after a connection has closed."""
    if code in _STOP_CODES:
        return StopReconnecting(code)
    if code == GOING_AWAY:
        return Reconnect(delays.going_away * random, failed=False)
    return Reconnect(backoff(failures, random, delays.base, delays.cap), failed=True)


def is_empty_poll(news: bool, waited: float, poll_wait: float) -> bool:
    """A long poll that returned nothing at once: the server is stopping, or a proxy cuts long requests."""
    return not news and waited < poll_wait / 10

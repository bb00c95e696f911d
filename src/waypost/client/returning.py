"""When a client comes back, and whether: backoff, close codes and polls in vain, as decisions (B13, B14, B16)."""

from __future__ import annotations

import msgspec

GOING_AWAY = 4001
NOT_AUTHENTICATED = 4401
FORBIDDEN = 4403
_NEVER_AGAIN = range(4400, 5000)
_LARGEST_POWER = 40
"""Far beyond any cap: a client that failed for a week still computes."""


class ComeBack(msgspec.Struct, frozen=True):
    after: float
    """Milliseconds."""
    failed: bool
    """Counts among the failures in a row."""


class Stop(msgspec.Struct, frozen=True):
    code: int


def backoff(failures: int, dice: float, base: float, cap: float) -> float:
    """The wait after one more failure than these in a row."""
    return min(cap, base * 2.0 ** min(failures, _LARGEST_POWER)) * (0.5 + dice / 2)


class Pauses(msgspec.Struct, frozen=True):
    base: float
    cap: float
    going_away: float


def after_close(code: int, failures: int, dice: float, pauses: Pauses) -> ComeBack | Stop:
    """What a closed connection asks for."""
    if code in _NEVER_AGAIN:
        return Stop(code)
    if code == GOING_AWAY:
        return ComeBack(pauses.going_away * dice, failed=False)
    return ComeBack(backoff(failures, dice, pauses.base, pauses.cap), failed=True)


def in_vain(news: bool, waited: float, poll_wait: float) -> bool:
    """A long poll that brought nothing and did not wait: the server is closing, or somebody on the way cuts waits."""
    return not news and waited < poll_wait / 10

"""The machine's clock, random source and id generator."""

from __future__ import annotations

import asyncio
import random
import secrets
import time

from waypost.model.time import Instant, Span, as_seconds

_UPTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Only Linux has a clock of its own that runs while the machine is suspended."""


class SystemClock:
    """With SQLite, whose processes all run on this machine, this is also the Ledger's clock."""

    def now(self) -> Instant:
        return Instant(time.time_ns() // 1000)

    def monotonic(self) -> float:
        return time.monotonic()

    def boot(self) -> int:
        return time.clock_gettime_ns(_UPTIME) // 1000

    async def sleep(self, span: Span) -> None:
        await asyncio.sleep(as_seconds(span))

    async def trusted(self) -> Instant:
        return self.now()

    async def measure(self) -> Span:
        return Span(0)


class SystemRandomSource:
    def unit(self) -> float:
        return random.random()  # noqa: S311  # jitter, not a secret


class SystemIds:
    def token(self, size: int = 24) -> str:
        return secrets.token_urlsafe(size)

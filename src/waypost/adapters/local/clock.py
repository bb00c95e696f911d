"""The machine's clock, random source and id generator."""

from __future__ import annotations

import asyncio
import random
import secrets
import time

from waypost.model.time import Instant, Span, as_seconds


class SystemClock:
    def now(self) -> Instant:
        return Instant(time.time_ns() // 1000)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, span: Span) -> None:
        await asyncio.sleep(as_seconds(span))


class SystemRandomSource:
    def unit(self) -> float:
        return random.random()  # noqa: S311  # jitter, not a secret


class SystemIds:
    def token(self, size: int = 24) -> str:
        return secrets.token_urlsafe(size)

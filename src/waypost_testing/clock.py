"""A clock that moves only when a test moves it."""

from __future__ import annotations

import asyncio
import heapq
import itertools

from waypost.model.time import Instant, Span, as_seconds

START = Instant(1_760_000_000_000_000)


class ManualClock:
    """`advance` wakes sleepers in the order of their deadlines; `jump` sets the wall clock only."""

    def __init__(self, start: Instant = START) -> None:
        self._now = start
        self._passed = Span(0)
        self._sleepers: list[tuple[int, int, asyncio.Event]] = []
        self._turns = itertools.count()

    def now(self) -> Instant:
        return self._now

    def monotonic(self) -> float:
        return as_seconds(self._passed)

    async def trusted(self) -> Instant:
        return self._now

    async def measure(self) -> Span:
        return Span(0)

    async def sleep(self, span: Span) -> None:
        if span <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.Event()
        heapq.heappush(self._sleepers, (self._passed + span, next(self._turns), woken))
        await woken.wait()

    def advance(self, span: Span) -> None:
        """Let time pass."""
        self._passed = Span(self._passed + span)
        self._now = Instant(self._now + span)
        while self._sleepers and self._sleepers[0][0] <= self._passed:
            heapq.heappop(self._sleepers)[2].set()

    def jump(self, span: Span) -> None:
        """Set the wall clock forward or back; sleeps are not affected."""
        self._now = Instant(self._now + span)

"""The Ledger's time in a process on another machine, whose own clock may be wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from waypost.model.time import Instant, Span, seconds
from waypost.ports.platform.clock import Clock

DISAGREE: Span = seconds(0.5)
"""Between two measurements the wall clock and the uptime drift apart by less, unless one of them jumped."""


class MachineClock(Clock, Protocol):
    def boot(self) -> int:
        """Microseconds since some moment in the past; they also pass while the machine is suspended."""


class LedgerClock:
    """The Ledger's time at the last measurement, plus the uptime since. The wall clock decides nothing.

    Before the first measurement, `now` is the machine's own time.
    """

    def __init__(self, machine: MachineClock, read: Callable[[], Awaitable[Instant]]) -> None:
        self._machine = machine
        self._read = read
        self._ahead: int | None = None
        """The Ledger's time minus the uptime."""
        self._wall_ahead = 0
        """The wall clock minus the uptime, just before the last measurement."""
        self._measured = 0
        """How often."""
        self._measuring = asyncio.Lock()
        self.monotonic = machine.monotonic
        self.sleep = machine.sleep

    @classmethod
    async def measured(cls, machine: MachineClock, read: Callable[[], Awaitable[Instant]]) -> LedgerClock:
        clock = cls(machine, read)
        await clock.measure()
        return clock

    def now(self) -> Instant:
        return self._machine.now() if self._ahead is None else Instant(self._machine.boot() + self._ahead)

    async def trusted(self) -> Instant:
        while True:
            uptime = self._machine.boot()
            if self._ahead is not None and abs(self._machine.now() - uptime - self._wall_ahead) <= DISAGREE:
                return Instant(uptime + self._ahead)
            measured = self._measured
            async with self._measuring:
                if measured == self._measured:  # no other task has measured meanwhile
                    await self.measure()

    async def measure(self) -> Span:
        """The Ledger's time was read between the request and its answer. Within these bounds nothing changes, so that
        a slow answer moves no clock, and beyond them as little as possible."""
        wall_ahead, before = self._wall(), self._machine.boot()
        at = await self._read()
        lowest, highest = at - self._machine.boot(), at - before
        known = (lowest + highest) // 2 if self._ahead is None else self._ahead
        self._ahead, self._wall_ahead = min(max(known, lowest), highest), wall_ahead
        self._measured += 1
        return Span(self._wall() - self._ahead)

    def _wall(self) -> int:
        return self._machine.now() - self._machine.boot()

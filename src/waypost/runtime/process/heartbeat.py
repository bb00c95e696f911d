"""A child's heartbeat: a byte into a pipe while it lives, another once it is ready; it stops without a reader."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

EVERY = 0.5
"""Seconds."""
ASK_EVERY = 0.05
"""Seconds between two checks whether a starting child is ready: its predecessor waits for it."""

MISSED_AFTER = 5.0
"""Seconds without a heartbeat after which a child is killed, so that others get what it holds."""

ALIVE = b"."
READY = b"r"


class Heartbeat:
    """Sends the first beat at once; from then on silence counts."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._beat(ALIVE)
        self._tasks = [asyncio.ensure_future(self._go_on())]

    def say_when(self, ready: Callable[[], Awaitable[bool]]) -> None:
        """Runs beside the beats, so that a child that waits is not taken for dead."""
        self._tasks.append(asyncio.ensure_future(self._when(ready)))

    async def _go_on(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            self._beat(ALIVE)

    async def _when(self, ready: Callable[[], Awaitable[bool]]) -> None:
        while not await ready():  # noqa: ASYNC110  # readiness depends on other machines, too
            await asyncio.sleep(ASK_EVERY)
        self._beat(READY)

    def _beat(self, sign: bytes) -> None:
        try:
            os.write(self._descriptor, sign)
        except BlockingIOError:
            pass  # the supervisor reads slowly; the pipe holds enough beats
        except OSError:
            os.kill(os.getpid(), signal.SIGTERM)

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

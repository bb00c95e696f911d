"""A child's signs: a byte down a pipe while it lives, another once it is ready; when nobody reads, the child stops."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

EVERY = 0.5
"""Seconds."""
ASK_EVERY = 0.05
"""Seconds between two looks at whether a child that starts is ready: its predecessor waits for it."""

MISSED_AFTER = 5.0
"""Seconds of silence after which a child hangs, and is killed so that the others get what it holds."""

ALIVE = b"."
READY = b"r"


class Heartbeat:
    """The first beat is given at once: from then on silence counts."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._beat(ALIVE)
        self._tasks = [asyncio.ensure_future(self._go_on())]

    def say_when(self, ready: Callable[[], Awaitable[bool]]) -> None:
        """Beside the beats: that something makes it wait is no reason to take it for dead."""
        self._tasks.append(asyncio.ensure_future(self._when(ready)))

    async def _go_on(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            self._beat(ALIVE)

    async def _when(self, ready: Callable[[], Awaitable[bool]]) -> None:
        while not await ready():  # noqa: ASYNC110  # whether it is depends on other machines, too
            await asyncio.sleep(ASK_EVERY)
        self._beat(READY)

    def _beat(self, sign: bytes) -> None:
        try:
            os.write(self._descriptor, sign)
        except BlockingIOError:
            pass  # the supervisor is slow to read: it has enough to know that we live
        except OSError:
            os.kill(os.getpid(), signal.SIGTERM)

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

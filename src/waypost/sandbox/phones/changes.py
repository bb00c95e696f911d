"""A version counter of changes on the phones, with a wait for the next change."""

from __future__ import annotations

import asyncio

from waypost.model.time import Span
from waypost.ports.platform.clock import Clock


class Changes:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.version: int = clock.now()
        """Starts at the current time, so that versions never repeat after a restart."""
        self._waiters: list[asyncio.Future[None]] = []
        self._ended = False

    def happened(self) -> None:
        self.version += 1
        self._wake()

    async def beyond(self, seen: int, timeout: Span) -> None:
        """Returns when something has changed since `seen`, or at the timeout."""
        if self._ended or seen != self.version or timeout <= 0:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        sleeping = asyncio.ensure_future(self._clock.sleep(timeout))
        try:
            await asyncio.wait([waiter, sleeping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def end(self) -> None:
        """Ends all waits, now and later."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiters = self._waiters, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

"""Changes on the phones, counted, so that whoever looks at one can wait for the next."""

from __future__ import annotations

import asyncio

from waypost.model.time import Span
from waypost.ports.clock import Clock


class Changes:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.version: int = clock.now()
        """Begins with the time: a sandbox that was started anew never counts where the one before it stood."""
        self._waiting: list[asyncio.Future[None]] = []
        self._over = False

    def happened(self) -> None:
        self.version += 1
        self._wake()

    async def beyond(self, seen: int, at_most: Span) -> None:
        """Return when something has changed since `seen`, or when the time is over."""
        if self._over or seen != self.version or at_most <= 0:
            return
        waking: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waking)
        sleeping = asyncio.ensure_future(self._clock.sleep(at_most))
        try:
            await asyncio.wait([waking, sleeping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            if waking in self._waiting:
                self._waiting.remove(waking)

    def end(self) -> None:
        """From now on nobody waits."""
        self._over = True
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for waking in waiting:
            if not waking.done():
                waking.set_result(None)

"""How a client stands at this moment: its state, its socket, and who wants to know when that changes."""

from __future__ import annotations

import asyncio
import math

from waypost.client.line import Line
from waypost.client.nouns import Happening, State, StateIs, Watch


class Situation:
    def __init__(self, watch: Watch | None) -> None:
        self.state = State.WAITING
        self.code = 0
        self.failure: BaseException | None = None
        """A mistake of ours that ended it."""
        self.line: Line | None = None
        """A socket that is past its welcome."""
        self._watch = watch
        self._bells: list[asyncio.Event] = []

    def bell(self) -> asyncio.Event:
        """Rings at each change; who waits for it clears it."""
        self._bells.append(bell := asyncio.Event())
        return bell

    async def comes_to(self, state: State) -> None:
        """Returns in this state, or when it can never be reached."""
        bell = self.bell()
        try:
            while self.state not in {state, State.STOPPED}:
                await bell.wait()
                bell.clear()
        finally:
            self._bells.remove(bell)

    def become(self, state: State, code: int = 0) -> None:
        """Stopped is final."""
        if self.state in {State.STOPPED, state}:
            return
        self.state, self.code = state, code
        self.tell(StateIs(state, code))
        self.ring()

    def ring(self) -> None:
        for bell in self._bells:
            bell.set()

    def tell(self, happening: Happening) -> None:
        if self._watch is not None:
            self._watch(happening)


def now_ms() -> float:
    """The loop's own clock: it never jumps."""
    return asyncio.get_running_loop().time() * 1000


async def heard(bell: asyncio.Event, at_most: float | None) -> None:
    """Until the bell rings, or so many milliseconds, rounded up: less than a clock can tell would be no wait at all."""
    try:
        async with asyncio.timeout(None if at_most is None else max(0, math.ceil(at_most)) / 1000):
            await bell.wait()
    except TimeoutError:
        pass
    bell.clear()

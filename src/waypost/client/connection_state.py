"""The client's current state and socket, with signals for those who wait for a change."""

from __future__ import annotations

import asyncio
import math

from waypost.client.types import ClientEvent, EventHandler, State, StateChanged
from waypost.client.websocket import WebSocketConnection


class ConnectionState:
    def __init__(self, watch: EventHandler | None) -> None:
        self.state = State.WAITING
        self.code = 0
        self.failure: BaseException | None = None
        """The bug that stopped the client, if one did."""
        self.socket: WebSocketConnection | None = None
        """A socket that has received its welcome."""
        self._watch = watch
        self._signals: list[asyncio.Event] = []

    def signal(self) -> asyncio.Event:
        """An event that is set at each change; the waiter clears it."""
        self._signals.append(signal := asyncio.Event())
        return signal

    async def wait_for(self, state: State) -> None:
        """Returns in this state, or when the client has stopped."""
        signal = self.signal()
        try:
            while self.state not in {state, State.STOPPED}:
                await signal.wait()
                signal.clear()
        finally:
            self._signals.remove(signal)

    def become(self, state: State, code: int = 0) -> None:
        """Changes the state, unless the client has stopped."""
        if self.state in {State.STOPPED, state}:
            return
        self.state, self.code = state, code
        self.emit(StateChanged(state, code))
        self.wake()

    def wake(self) -> None:
        for signal in self._signals:
            signal.set()

    def emit(self, event: ClientEvent) -> None:
        if self._watch is not None:
            self._watch(event)


def now_ms() -> float:
    """The loop's monotonic clock, in milliseconds."""
    return asyncio.get_running_loop().time() * 1000


async def wait_for_signal(signal: asyncio.Event, at_most: float | None) -> None:
    """Waits for the signal, for at most so many milliseconds, rounded up so that the wait is never zero."""
    try:
        async with asyncio.timeout(None if at_most is None else max(0, math.ceil(at_most)) / 1000):
            await signal.wait()
    except TimeoutError:
        pass
    signal.clear()

"""Holds applied items until the application takes them; only then a cursor moves (B12)."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Self

from waypost.client.connection_state import ConnectionState
from waypost.client.store import Store, StoredState
from waypost.client.timing import Timing
from waypost.client.types import Applied, Epoch, Item, Reset, State, Stopped

MOST_WAITING = 10_000
"""With this many items waiting, the client reads nothing more from the server."""


class ItemDelivery:
    """The iterator of `Client.items()`: requesting the next item acknowledges the last one."""

    def __init__(self, kept: StoredState, store: Store, connection: ConnectionState, timing: Timing) -> None:
        self._store, self._connection, self._timing = store, connection, timing
        self._waiting: deque[Applied] = deque()
        self._given: Applied | None = None
        self._epoch: Epoch | None = kept.epoch
        self._cursors = dict(kept.cursors or {})
        self._moved: set[str] = set()
        self._dirty = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._signal = connection.signal()

    def put(self, applied: list[Applied]) -> None:
        if applied:
            self._waiting.extend(applied)
            self._signal.set()
        if len(self._waiting) >= MOST_WAITING:
            self._room.clear()

    async def room(self) -> None:
        """Waits until the application has taken enough items."""
        await self._room.wait()

    @property
    def has_room(self) -> bool:
        return self._room.is_set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Applied:
        if self._given is not None:
            self._acknowledge(self._given)
            self._given = None
        while not self._waiting:
            if self._connection.state is State.STOPPED:
                self._end()
            await self._signal.wait()
            self._signal.clear()
        self._given = self._waiting.popleft()
        self._room.set()
        return self._given

    def _end(self) -> None:
        if self._connection.failure is not None:
            raise self._connection.failure
        if self._connection.code:
            raise Stopped(self._connection.code)
        raise StopAsyncIteration

    def _acknowledge(self, applied: Applied) -> None:
        match applied:
            case Reset(epoch=epoch, heads=heads):
                self._epoch, self._cursors = epoch, dict(heads)
                self._moved = set(heads)
            case Item(feed=feed, seq=seq):
                self._cursors[feed] = seq
                self._moved.add(feed)
        self._dirty.set()

    async def keep(self) -> None:
        """Runs as long as the client: saves the cursors of taken items, then acks them, in batches."""
        while True:
            await self._dirty.wait()
            await asyncio.sleep(self._timing.ack_every / 1000)
            await self.flush()

    async def flush(self) -> None:
        if not self._dirty.is_set():
            return
        self._dirty.clear()
        moved, self._moved = self._moved, set()
        cursors = dict(self._cursors)
        try:
            await self._store.save_cursors(self._epoch, cursors)
        except BaseException:
            self._moved |= moved
            self._dirty.set()
            raise
        socket = self._connection.socket
        for feed in sorted(moved) if socket is not None else []:
            await socket.send({"type": "ack", "feed": feed, "seq": cursors[feed]})  # type: ignore[union-attr]  # not None

"""The hand-over: applied items wait here until the application takes them, and only then does a cursor move (B12)."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Self

from waypost.client.nouns import Applied, Epoch, Item, Reset, State, Stopped
from waypost.client.situation import Situation
from waypost.client.store import Kept, Store
from waypost.client.timing import Timing

MOST_WAITING = 10_000
"""Applied and not taken: beyond that nothing more is read from the server."""


class Taking:
    """The iterator that `Client.items()` gives: asking for the next item is the word that the last one was taken."""

    def __init__(self, kept: Kept, store: Store, situation: Situation, timing: Timing) -> None:
        self._store, self._situation, self._timing = store, situation, timing
        self._waiting: deque[Applied] = deque()
        self._given: Applied | None = None
        self._epoch: Epoch | None = kept.epoch
        self._cursors = dict(kept.cursors or {})
        self._moved: set[str] = set()
        self._dirty = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._bell = situation.bell()

    def put(self, applied: list[Applied]) -> None:
        if applied:
            self._waiting.extend(applied)
            self._bell.set()
        if len(self._waiting) >= MOST_WAITING:
            self._room.clear()

    async def room(self) -> None:
        """The application keeps up."""
        await self._room.wait()

    @property
    def has_room(self) -> bool:
        return self._room.is_set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Applied:
        if self._given is not None:
            self._took(self._given)
            self._given = None
        while not self._waiting:
            if self._situation.state is State.STOPPED:
                self._end()
            await self._bell.wait()
            self._bell.clear()
        self._given = self._waiting.popleft()
        self._room.set()
        return self._given

    def _end(self) -> None:
        if self._situation.failure is not None:
            raise self._situation.failure
        if self._situation.code:
            raise Stopped(self._situation.code)
        raise StopAsyncIteration

    def _took(self, applied: Applied) -> None:
        match applied:
            case Reset(epoch=epoch, heads=heads):
                self._epoch, self._cursors = epoch, dict(heads)
                self._moved = set(heads)
            case Item(feed=feed, seq=seq):
                self._cursors[feed] = seq
                self._moved.add(feed)
        self._dirty.set()

    async def keep(self) -> None:
        """Runs as long as the client: what was taken is kept, then acked, not more often than needed."""
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
            await self._store.stand(self._epoch, cursors)
        except BaseException:
            self._moved |= moved
            self._dirty.set()
            raise
        line = self._situation.line
        for feed in sorted(moved) if line is not None else []:
            await line.send({"type": "ack", "feed": feed, "seq": cursors[feed]})  # type: ignore[union-attr]  # not None

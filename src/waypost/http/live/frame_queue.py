"""Handles a device's frames one after the other, so that its messages stay in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from waypost.http.live.frames import FromClient
from waypost.ports.live.live_connection import LiveConnection

FrameHandler: TypeAlias = Callable[[FromClient], Awaitable[None]]

MOST_WAITING = 500
"""Queued frames; beyond that the connection is not read until the queue shrinks."""


class FrameQueue:
    """Allocates nothing while it is empty: most devices are silent most of the time."""

    __slots__ = ("_answer", "_frames", "_link", "_working")

    def __init__(self, link: LiveConnection, answer: FrameHandler) -> None:
        self._link = link
        self._answer = answer
        self._frames: deque[FromClient] | None = None
        self._working: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        return self._working is not None

    def put(self, frame: FromClient) -> None:
        if self._frames is None:
            self._frames = deque()
        self._frames.append(frame)
        if len(self._frames) >= MOST_WAITING:
            self._link.pause()
        if self._working is None:
            self._working = asyncio.ensure_future(self._work())

    def stop(self) -> None:
        if self._working is not None:
            self._working.cancel()

    async def _work(self) -> None:
        try:
            while self._frames:
                await self._answer(self._frames.popleft())
                if len(self._frames) < MOST_WAITING // 2:
                    self._link.resume()
        finally:
            self._working = None
            self._frames = self._frames or None

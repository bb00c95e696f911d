"""Processes as far as Redis can see them: their hints, and the connection that forwards them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from waypost.adapters.redis.connection import RedisConnection
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.wiring.hint_transports import open_hints

DEADLINE = 20.0


class Machine:
    def __init__(self, url: str, folder: str = "") -> None:
        self.hints, line = open_hints(Settings(redis_url=url, hints_dir=folder))
        assert line is not None
        self.line: RedisConnection = line

    async def reaches(self, *, up: bool = True) -> None:
        await asyncio.wait_for(self.line.until(up=up), DEADLINE)

    async def close(self) -> None:
        self.hints.close()
        assert self.line._task is not None
        await asyncio.wait_for(asyncio.gather(self.line._task, return_exceptions=True), DEADLINE)

    async def all_sent(self) -> None:
        """Everything that waited was sent to Redis."""
        await asyncio.wait_for(self.line.flushed(), DEADLINE)

    def letters(self) -> asyncio.Queue[list[str]]:
        """Collects what comes through Redis from now on, instead of delivering it."""
        came: asyncio.Queue[list[str]] = asyncio.Queue()
        self.line._deliver = came.put_nowait
        return came


class Makes(Protocol):
    async def __call__(self, url: str = "", folder: str = "", *, up: bool = True) -> Machine: ...


@asynccontextmanager
async def machines_on(redis_url: str) -> AsyncIterator[Makes]:
    made: list[Machine] = []

    async def machine(url: str = "", folder: str = "", *, up: bool = True) -> Machine:
        made.append(Machine(url or redis_url, folder))
        if up:
            await made[-1].reaches()
        return made[-1]

    yield machine
    for each in made:
        await each.close()

"""The open connections of one mailbox: a bounded number, each kept for a while after it was used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec

from waypost.adapters.smtp.connection import Connection


class PoolLimits(msgspec.Struct, frozen=True, kw_only=True):
    connections: int = 8
    """At once, per mailbox; servers refuse a client that opens many."""
    letters: int = 50
    """On one connection; servers end longer ones."""
    idle: float = 20.0
    """Seconds; servers hang up on those that say nothing for long."""


class Pool:
    def __init__(
        self, connect: Callable[[], Awaitable[Connection]], limits: PoolLimits, when_empty: Callable[[], None]
    ) -> None:
        self._connect = connect
        self._limits = limits
        self._when_empty = when_empty
        self._slots = asyncio.Semaphore(limits.connections)
        self._idle: dict[Connection, asyncio.TimerHandle] = {}
        self._users = 0
        self._closed = False

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Connection]:
        """A connection that works, for one letter; waits until one is free."""
        self._users += 1
        try:
            async with self._slots:
                connection = await self._take()
                try:
                    yield connection
                finally:
                    self._put_back(connection)
        finally:
            self._users -= 1
            self._tell_if_empty()

    async def _take(self) -> Connection:
        while self._idle:
            connection, timer = self._idle.popitem()
            timer.cancel()
            if await connection.answers():
                return connection
        return await self._connect()

    def _put_back(self, connection: Connection) -> None:
        if not connection.reusable:
            connection.drop()
        elif self._closed or connection.letters >= self._limits.letters:
            connection.say_goodbye()
        else:
            loop = asyncio.get_running_loop()
            self._idle[connection] = loop.call_later(self._limits.idle, self._retire, connection)

    def _retire(self, connection: Connection) -> None:
        self._idle.pop(connection).cancel()
        connection.say_goodbye()
        self._tell_if_empty()

    def _tell_if_empty(self) -> None:
        if not self._users and not self._idle:
            self._when_empty()

    def close(self) -> None:
        """Those in use are closed when they come back."""
        self._closed = True
        for connection in list(self._idle):
            self._retire(connection)

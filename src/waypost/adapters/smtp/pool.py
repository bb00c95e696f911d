"""The connections of one mailbox: a bounded number, each kept open for a while after use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec

from waypost.adapters.smtp.connection import SmtpConnection


class SmtpPoolLimits(msgspec.Struct, frozen=True, kw_only=True):
    connections: int = 8
    """Concurrent, per mailbox; servers refuse clients that open many."""
    emails: int = 50
    """Per connection; servers limit them."""
    idle: float = 20.0
    """Seconds; servers close connections that are idle for long."""


class SmtpPool:
    def __init__(
        self, connect: Callable[[], Awaitable[SmtpConnection]], limits: SmtpPoolLimits, when_empty: Callable[[], None]
    ) -> None:
        self._connect = connect
        self._limits = limits
        self._when_empty = when_empty
        self._slots = asyncio.Semaphore(limits.connections)
        self._idle: dict[SmtpConnection, asyncio.TimerHandle] = {}
        self._users = 0
        self._closed = False

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[SmtpConnection]:
        """A working connection for one email; waits until one is free."""
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
            self._notify_if_empty()

    async def _take(self) -> SmtpConnection:
        while self._idle:
            connection, timer = self._idle.popitem()
            timer.cancel()
            if await connection.answers():
                return connection
        return await self._connect()

    def _put_back(self, connection: SmtpConnection) -> None:
        if not connection.reusable:
            connection.drop()
        elif self._closed or connection.emails >= self._limits.emails:
            connection.quit()
        else:
            loop = asyncio.get_running_loop()
            self._idle[connection] = loop.call_later(self._limits.idle, self._retire, connection)

    def _retire(self, connection: SmtpConnection) -> None:
        self._idle.pop(connection).cancel()
        connection.quit()
        self._notify_if_empty()

    def _notify_if_empty(self) -> None:
        if not self._users and not self._idle:
            self._when_empty()

    def close(self) -> None:
        """Connections in use are closed when they are returned."""
        self._closed = True
        for connection in list(self._idle):
            self._retire(connection)

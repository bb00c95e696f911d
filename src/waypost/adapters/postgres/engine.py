"""The engine on PostgreSQL: connections for batches, claims, turns, search and reading."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeVar, get_args

import asyncpg

from waypost.adapters.postgres.access import (
    LOST,
    NoRoom,
    PostgresAccess,
    PostgresConnection,
    find_access,
    unreachable_error,
)
from waypost.adapters.postgres.columns import Batches
from waypost.adapters.postgres.connection_room import LEFT, LOOK_EVERY, ConnectionRoom
from waypost.adapters.postgres.reconnecting import CLOSING, ReconnectingConnection, translate_error
from waypost.adapters.postgres.schema import PACKAGE, check_version
from waypost.adapters.sql.engine.engine import CommitQueue, ConnectionName
from waypost.adapters.sql.engine.group_commit import TransactionConflict, single_intent_error
from waypost.adapters.sql.engine.migrations import NewerSchema
from waypost.adapters.sql.engine.plan import Plan, Row
from waypost.adapters.sql.engine.statements import SqlStatement, dialect
from waypost.model.time import Instant
from waypost.ports.platform.failure import LedgerError

T = TypeVar("T")

_OF_THE_DATABASE = (asyncpg.PostgresError, asyncpg.InterfaceError)


class PostgresEngine:
    """Each kind of work has its own connection; when PostgreSQL has no room for it, it shares another one's."""

    def __init__(self, access: PostgresAccess, readers: int, statements: Mapping[str, SqlStatement]) -> None:
        self._statements = statements
        self._access = access
        self._room = ConnectionRoom()
        self._look_at = 0.0
        batches = Batches(statements)

        def line(access: PostgresAccess) -> ReconnectingConnection:
            return ReconnectingConnection(access, statements, batches, self._room)

        self._lines = {queue: line(access) for queue in CommitQueue}
        self._apart: dict[ConnectionName, ReconnectingConnection] = {
            name: line(access) for name in get_args(ConnectionName)
        }
        self._readers = [line(access.reading) for _ in range(readers)]
        self._free = list(self._readers)
        self._slots = asyncio.Semaphore(readers)
        self._all = (*self._readers, *self._apart.values(), *self._lines.values())

    @classmethod
    async def open(cls, url: str, *, readers: int = 4) -> PostgresEngine:
        """Connect and check the schema version."""
        engine = cls(await find_access(url), readers, await asyncio.to_thread(dialect, PACKAGE))
        try:
            await engine._check()
        except BaseException:
            engine._terminate()
            raise
        return engine

    @property
    def most_connections(self) -> int:
        """The most connections that this process opens."""
        return len(self._all)

    def now(self) -> Instant:
        """A fallback for statements that take the time; PostgreSQL's own clock decides (`door_tick`)."""
        return Instant(time.time_ns() // 1000)

    async def run(self, queue: CommitQueue, plan: Plan[T]) -> T:
        if queue is CommitQueue.FULL:
            return await self._with(self._lines[queue], lambda line: line.transact(plan))
        return await self._with(self._lines[queue], lambda line: line.step_by_step(plan))

    async def transact(self, plan: Plan[T], line: ConnectionName = "claims") -> T:
        try:
            return await self._with(self._apart[line], lambda able: able.transact(plan))
        except (TransactionConflict, *_OF_THE_DATABASE) as error:
            raise single_intent_error(error) from error

    async def read(self, statement: str, *arguments: object) -> list[Row]:
        await self._look()
        return await self._fetch(statement, *arguments)

    async def _fetch(self, statement: str, *arguments: object) -> list[Row]:
        text = self._statements[statement].text
        try:
            found: list[Row] = await self._reading(lambda connection: connection.fetch(text, *arguments))
        except (*LOST, *_OF_THE_DATABASE) as error:
            raise single_intent_error(translate_error(error, unknown_outcome=False)) from error
        return found

    async def time(self) -> Instant:
        ((now,),) = await self._fetch("ledger_time")  # no look: whoever asks measures how long the answer takes
        return Instant(now)

    async def ping(self) -> None:
        with suppress(NewerSchema):  # a running server continues until it is upgraded
            await self._check()

    async def _check(self) -> None:
        try:
            await self._reading(check_version)
        except (*LOST, *CLOSING) as error:
            raise unreachable_error(error) from error

    async def _reading(self, work: Callable[[PostgresConnection], Awaitable[T]]) -> T:
        async with self._slots:
            reader = self._free.pop()
            try:
                return await self._with(reader, lambda line: line.read(work))
            finally:
                self._free.append(reader)

    # Sharing connections when there is no room for more

    async def _with(self, line: ReconnectingConnection, work: Callable[[ReconnectingConnection], Awaitable[T]]) -> T:
        """Work on this connection, or on an open one if this one cannot be opened: then nothing was done yet."""
        first = self._able(line)
        try:
            return await work(first)
        except NoRoom:
            other = self._able(line)
            if other is first:
                raise
            return await work(other)

    def _able(self, line: ReconnectingConnection) -> ReconnectingConnection:
        if line.is_open or self._room.may_open:
            return line
        opened = [each for each in self._all if each.is_open]
        return next((each for each in opened if each.is_idle), opened[-1] if opened else line)

    async def _look(self) -> None:
        """Now and then, give back connections that other processes need more. Every process reads every few seconds."""
        now = asyncio.get_running_loop().time()
        opened = [each for each in self._all if each.is_open] if now >= self._look_at else []
        idle = next((each for each in opened if each.is_idle), None)
        if self._access.pooled or idle is None:
            return
        self._look_at = now + LOOK_EVERY
        with suppress(LedgerError, *LOST, *_OF_THE_DATABASE):
            left = await idle.read(lambda connection: connection.fetchval(LEFT))
            if self._room.look(left, wanted=len(self._all) - len(opened)):
                for each in [each for each in opened if each.is_idle][: len(opened) - 1]:
                    await each.give_back()

    async def close(self, finish: Callable[[], Awaitable[None]] | None = None) -> None:
        """Close in order; if cancelled, terminate at once."""
        try:
            if finish:
                await finish()
            for line in self._all:
                await line.close()
        except BaseException:
            self._terminate()
            raise

    def _terminate(self) -> None:
        for line in self._all:
            line.terminate()

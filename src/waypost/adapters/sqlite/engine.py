"""Engines on SQLite: a writer thread and a reader thread for a server, or inline for a simulation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from waypost.adapters.sql.engine.engine import CommitQueue, ConnectionName
from waypost.adapters.sql.engine.group_commit import single_intent_error
from waypost.adapters.sql.engine.migrations import NewerSchema
from waypost.adapters.sql.engine.plan import Plan, Row
from waypost.adapters.sqlite.store import FAILURES, SqliteStore
from waypost.model.time import Instant
from waypost.ports.platform.failure import Unavailable

T = TypeVar("T")


class ThreadedEngine:
    """For a server: commits in one thread, reads in another, so that the event loop never waits for the disk."""

    def __init__(self, path: Path, now: Callable[[], Instant]) -> None:
        self.now = now
        self._write = ThreadPoolExecutor(1, "sqlite-write")
        self._reading = ThreadPoolExecutor(1, "sqlite-read")
        self._writer = SqliteStore(path)
        self._writer.check()
        self._reader = SqliteStore(path)

    async def run(self, queue: CommitQueue, plan: Plan[T]) -> T:  # noqa: ARG002  # one file has one writer for all queues
        return await self._in_writer(lambda: self._writer.transact(plan))

    async def transact(self, plan: Plan[T], line: ConnectionName = "claims") -> T:  # noqa: ARG002  # one file, one writer
        try:
            return await self._in_writer(lambda: self._writer.transact(plan))
        except FAILURES as error:
            raise single_intent_error(error) from error

    async def _in_writer(self, action: Callable[[], T]) -> T:
        return await _in_thread(self._write, action)

    async def read(self, statement: str, *arguments: object) -> list[Row]:
        try:
            return await _in_thread(self._reading, lambda: self._reader.read(statement, arguments))
        except FAILURES as error:
            raise single_intent_error(error) from error

    async def time(self) -> Instant:
        return self.now()

    async def ping(self) -> None:
        with suppress(NewerSchema):  # a running server continues until it is upgraded
            await _in_thread(self._reading, self._reader.check)

    async def close(self, finish: Callable[[], Awaitable[None]] | None = None) -> None:
        if finish:
            await finish()
        await asyncio.get_running_loop().run_in_executor(None, self._shut)

    def _shut(self) -> None:
        self._write.shutdown()
        self._reading.shutdown()
        self._writer.close()
        self._reader.close()


async def _in_thread(thread: ThreadPoolExecutor, action: Callable[[], T]) -> T:
    try:
        under_way = asyncio.get_running_loop().run_in_executor(thread, action)
    except RuntimeError as error:
        raise Unavailable("the ledger is closed") from error
    return await under_way


class InlineEngine:
    """For a simulation: several servers share one store, with delays before and after each transaction."""

    def __init__(self, store: SqliteStore, now: Callable[[], Instant], pause: Callable[[str], Awaitable[None]]) -> None:
        """`pause` is awaited before a transaction and between its commit and its answer, where a crash may happen."""
        self.now = now
        self._store = store
        self._pause = pause

    async def run(self, queue: CommitQueue, plan: Plan[T]) -> T:  # noqa: ARG002  # one store has one writer for all queues
        return await self._committed(plan)

    async def _committed(self, plan: Plan[T]) -> T:
        await self._pause("before commit")
        answer = self._store.transact(plan)
        await self._pause("after commit")
        return answer

    async def transact(self, plan: Plan[T], line: ConnectionName = "claims") -> T:  # noqa: ARG002  # one file, one writer
        try:
            return await self._committed(plan)
        except FAILURES as error:
            raise single_intent_error(error) from error

    async def read(self, statement: str, *arguments: object) -> list[Row]:
        await self._pause("read")
        try:
            return self._store.read(statement, arguments)
        except FAILURES as error:
            raise single_intent_error(error) from error

    async def time(self) -> Instant:
        await self._pause("read")
        now = self.now()
        await self._pause("read")
        return now

    async def ping(self) -> None:
        self._store.check()

    async def close(self, finish: Callable[[], Awaitable[None]] | None = None) -> None:
        if finish:
            await finish()

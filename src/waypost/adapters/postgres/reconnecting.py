"""One connection to PostgreSQL, opened when needed and again after it was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeVar

import asyncpg

from waypost.adapters.postgres.access import (
    CONNECT_TIMEOUT,
    LOST,
    NoRoom,
    PostgresAccess,
    PostgresConnection,
    unreachable_error,
)
from waypost.adapters.postgres.columns import Batches
from waypost.adapters.postgres.connection_room import ConnectionRoom
from waypost.adapters.sql.engine.group_commit import TransactionConflict
from waypost.adapters.sql.engine.plan import AllOf, AtOnce, Each, Plan, Row, Step, Together
from waypost.adapters.sql.engine.statements import SqlStatement
from waypost.ports.platform.failure import Full, Unavailable

T = TypeVar("T")

_MET_ANOTHER = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.InvalidCachedStatementError,
)
CLOSING = (
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby: reconnecting finds the new primary
)
_POISON = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, asyncpg.ProgramLimitExceededError)
"""Errors of a single intent; every other refusal is a problem of the database."""

_OVERTAKEN = (asyncpg.DivisionByZeroError, asyncpg.UniqueViolationError)
"""How a statement fails if a row changed since it was read: see columns.at_once."""


class ReconnectingConnection:
    """One connection, opened when needed and again after it was lost; one transaction at a time."""

    def __init__(
        self, access: PostgresAccess, statements: Mapping[str, SqlStatement], batches: Batches, room: ConnectionRoom
    ) -> None:
        self._access = access
        self._room = room
        self._statements = statements
        self._batches = batches
        self._connection: PostgresConnection | None = None
        self._opening: asyncio.Future[PostgresConnection] | None = None
        self._turn = asyncio.Lock()
        self._closed = False

    @property
    def is_open(self) -> bool:
        return self._connection is not None and not self._connection.is_closed()

    @property
    def is_idle(self) -> bool:
        return self.is_open and not self._turn.locked()

    async def transact(self, plan: Plan[T]) -> T:
        async with self._turn:
            connection = await self._connected()
            committing = False
            try:
                await connection.execute(self._access.begin)
                answer = await self._drive(connection, plan)
                committing = True
                await connection.execute("COMMIT")
            except Exception as error:
                await self._clean_up(connection, error)
                raise translate_error(error, unknown_outcome=committing) from error
            except BaseException as error:  # cancelled: its statements must not become part of the next transaction
                await self._clean_up(connection, error)
                raise
            return answer

    async def step_by_step(self, plan: Plan[T]) -> T:
        """Run a plan whose last step is its only write: each statement is a transaction of its own."""
        async with self._turn:
            connection = await self._connected()
            try:
                return await self._drive(connection, plan, alone=not self._access.keeps_settings)
            except Exception as error:
                await self._clean_up(connection, error)
                raise translate_error(error, unknown_outcome=True) from error
            except BaseException as error:
                await self._clean_up(connection, error)
                raise

    async def read(self, work: Callable[[PostgresConnection], Awaitable[T]]) -> T:
        """Through a pooler, prepare and execute must use the same connection, so they share a transaction."""
        async with self._turn:
            connection = await self._connected()
            try:
                if not self._access.pooled:
                    return await work(connection)
                async with connection.transaction():
                    return await work(connection)
            except BaseException as error:
                await self._clean_up(connection, error)
                raise

    async def _connected(self) -> PostgresConnection:
        if self._closed:
            raise Unavailable("the ledger is closed")
        if self._connection is not None and not self._connection.is_closed():
            return self._connection
        try:
            return await asyncio.shield(self._opening or self._open())
        except (*LOST, asyncpg.PostgresError) as error:
            failure = unreachable_error(error)
            if isinstance(failure, NoRoom):
                self._room.was_refused(str(error))
            raise failure from error

    def _open(self) -> asyncio.Future[PostgresConnection]:
        self._opening = asyncio.ensure_future(self._access.line())
        self._opening.add_done_callback(self._opened)
        return self._opening

    def _opened(self, opening: asyncio.Future[PostgresConnection]) -> None:
        """Keep the connection even if the caller was cancelled while it opened.

        The next caller uses or closes it.
        """
        self._opening = None
        if not opening.cancelled() and opening.exception() is None:
            self._connection = opening.result()
            self._room.was_opened()

    async def _clean_up(self, connection: PostgresConnection, error: BaseException) -> None:
        """Leave no open transaction: roll back, or terminate the connection, which has the same effect."""
        if _is_lost(error) or connection.is_closed():
            connection.terminate()
            return
        try:
            await connection.execute("ROLLBACK")
        except (*LOST, asyncpg.PostgresError):
            connection.terminate()
        except BaseException:
            connection.terminate()
            raise

    async def _drive(self, connection: PostgresConnection, plan: Plan[T], *, alone: bool = False) -> T:
        run = self._run_alone if alone else self._run
        try:
            step = next(plan)
            while True:
                step = plan.send(await run(connection, step))
        except StopIteration as stop:
            answer: T = stop.value
            return answer

    async def _run_alone(self, connection: PostgresConnection, step: Step) -> list[Row]:
        """Run in a transaction of its own; if it was overtaken, its COMMIT rolls back."""
        await connection.execute(self._access.begin)
        found = await self._run(connection, step)
        await connection.execute("COMMIT")
        return found

    async def _run(self, connection: PostgresConnection, step: Step) -> list[Row]:
        found: list[Row]
        if isinstance(step, Together):
            whole = self._batches.together(step)
            found = await connection.fetch(whole.text, *whole.arguments(step.writes))
            return found
        if isinstance(step, AllOf):
            return await self._all_of(connection, step)
        if isinstance(step, AtOnce):
            return await self._at_once(connection, step)
        if not isinstance(step, Each):
            found = await connection.fetch(self._statements[step.statement].text, *step.arguments)
        elif batch := self._batches.of(step.statement):
            found = await connection.fetch(batch.text, *batch.arguments((step,)))
        else:
            found = await connection.fetchmany(self._statements[step.statement].text, step.rows)
        return found

    async def _all_of(self, connection: PostgresConnection, step: AllOf) -> list[Row]:
        whole, arguments = self._batches.all_of(step)
        found: list[list[Row]] = [[] for _ in step.reads]
        for n, row in await connection.fetch(whole.text, *arguments):
            found[n].append(row)
        return list(found)

    async def _at_once(self, connection: PostgresConnection, step: AtOnce) -> list[Row]:
        whole = self._batches.at_once(step)
        arguments = whole.arguments((*step.certain, *step.writes))
        try:
            done: list[Row] = await connection.fetch(
                whole.text, *arguments, sum(len(sure.rows) for sure in step.certain)
            )
        except _OVERTAKEN:
            return []
        return done

    async def give_back(self) -> None:
        """Close the connection; the next use opens another."""
        async with self._turn:
            if self._connection is not None and not self._connection.is_closed():
                with suppress(*LOST):
                    await self._connection.close(timeout=CONNECT_TIMEOUT)

    async def close(self) -> None:
        async with self._turn:
            self._closed = True
            if self._opening is not None:
                with suppress(*LOST, asyncpg.PostgresError):
                    self._connection = await self._opening
            if self._connection is not None and not self._connection.is_closed():
                await self._connection.close(timeout=CONNECT_TIMEOUT)

    def terminate(self) -> None:
        """Close at once, even in the middle of a transaction."""
        self._closed = True
        if self._opening is not None:
            self._opening.cancel()
        if self._connection is not None:
            self._connection.terminate()


def translate_error(error: Exception, *, unknown_outcome: bool) -> Exception:
    """Translate asyncpg's errors; any other error is returned unchanged."""
    if isinstance(error, _MET_ANOTHER):
        return TransactionConflict(str(error))
    if isinstance(error, asyncpg.DiskFullError):
        return Full(f"PostgreSQL has no room left: {error}")
    if _is_lost(error) and not isinstance(error, asyncpg.ReadOnlySQLTransactionError):
        if unknown_outcome:
            return Unavailable(f"PostgreSQL was lost during a commit: {error}")
        return Unavailable(f"PostgreSQL was lost: {error}") if _is_down(error) else TransactionConflict(str(error))
    if isinstance(error, asyncpg.PostgresError) and not isinstance(error, _POISON):
        return Unavailable(f"PostgreSQL takes no writes: {error}")
    return error


def _is_lost(error: BaseException) -> bool:
    return isinstance(error, (*LOST, *CLOSING)) and not isinstance(error, asyncpg.DiskFullError)


def _is_down(error: Exception) -> bool:
    """An idle-session timeout, or a batch too big to finish in time, may run again (and be halved)."""
    return not isinstance(error, asyncpg.IdleInTransactionSessionTimeoutError | asyncio.TimeoutError)

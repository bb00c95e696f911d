"""The engine on PostgreSQL: connections that commit batches, one that claims, one that keeps turns, a few that read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TypeVar, get_args

import asyncpg

from waypost.adapters.postgres.columns import Batches
from waypost.adapters.postgres.schema import PACKAGE, TAKES_WRITES, check_version
from waypost.adapters.postgres.short_ways import SHORT_WAYS
from waypost.adapters.sql.engine import LineName
from waypost.adapters.sql.group_commit import Conflict, alone
from waypost.adapters.sql.plan import AllOf, AtOnce, Each, Plan, Row, Step, Together
from waypost.adapters.sql.statements import Statement, dialect
from waypost.adapters.sql.writer import Lane, Writer
from waypost.model.time import Instant
from waypost.ports.failure import Full, Unavailable

T = TypeVar("T")

CONNECT_TIMEOUT = 5.0
ANSWER_TIMEOUT = 10.0
STATEMENTS_KEPT = 500
"""Prepared on each line: writes that go together make more of them than there are names."""

WRITER_SETTINGS = {
    "application_name": "waypost",
    # What a paused process holds is let go by the server.
    "lock_timeout": "2000",
    "idle_in_transaction_session_timeout": "2000",
    # Every statement goes by key. A plan made while a table was still empty must not become a scan of a full one.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
}

_LOST = (
    OSError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # how asyncpg meets a farewell that the server sent while nobody asked it anything
    asyncpg.PostgresConnectionError,
    asyncio.TimeoutError,
)
_MET_ANOTHER = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.InvalidCachedStatementError,
)
_CLOSING = (
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby: whoever writes now is found by connecting again
)
_POISON = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, asyncpg.ProgramLimitExceededError)
"""What is wrong with one intent, whoever asks; every other refusal is the database's own trouble."""

_OVERTAKEN = (asyncpg.DivisionByZeroError, asyncpg.UniqueViolationError)
"""How a statement ends that found something changed since it was read: see columns.at_once."""

_OF_THE_DATABASE = (asyncpg.PostgresError, asyncpg.InterfaceError)


class Line:
    """One connection, opened when needed and again after it was lost; one transaction at a time."""

    def __init__(self, url: str, statements: Mapping[str, Statement], batches: Batches) -> None:
        self._url = url
        self._statements = statements
        self._batches = batches
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._opening: asyncio.Future[asyncpg.Connection[asyncpg.Record]] | None = None
        self._turn = asyncio.Lock()
        self._closed = False

    async def transact(self, plan: Plan[T]) -> T:
        async with self._turn:
            connection = await self._connected()
            committing = False
            try:
                await connection.execute("BEGIN")
                answer = await self._drive(connection, plan)
                committing = True
                await connection.execute("COMMIT")
            except Exception as error:
                await self._clean_up(connection, error)
                raise translated(error, unknown_outcome=committing) from error
            except BaseException as error:  # cancelled in the middle: what it did so far must not join the next one
                await self._clean_up(connection, error)
                raise
            return answer

    async def step_by_step(self, plan: Plan[T]) -> T:
        """Run a plan of which only the last step writes: each statement is a transaction of its own."""
        async with self._turn:
            connection = await self._connected()
            try:
                return await self._drive(connection, plan)
            except Exception as error:
                await self._clean_up(connection, error)
                raise translated(error, unknown_outcome=True) from error
            except BaseException as error:
                await self._clean_up(connection, error)
                raise

    async def _connected(self) -> asyncpg.Connection[asyncpg.Record]:
        if self._closed:
            raise Unavailable("the ledger is closed")
        if self._connection is None or self._connection.is_closed():
            try:
                self._connection = await self._opened()
            except (*_LOST, asyncpg.PostgresError) as error:
                raise Unavailable(f"PostgreSQL cannot be reached: {str(error) or 'no answer'}") from error
        return self._connection

    async def _opened(self) -> asyncpg.Connection[asyncpg.Record]:
        """Whoever asked may be cancelled meanwhile: what is half open then is for the next one to use, or to close."""
        if self._opening is None:
            opening = asyncpg.connect(
                self._url,
                timeout=CONNECT_TIMEOUT,
                command_timeout=ANSWER_TIMEOUT,
                target_session_attrs=TAKES_WRITES,
                server_settings=WRITER_SETTINGS,
                statement_cache_size=STATEMENTS_KEPT,
            )
            self._opening = asyncio.ensure_future(opening)
        opening_now = self._opening
        try:
            return await asyncio.shield(opening_now)
        finally:
            if opening_now.done():
                self._opening = None

    async def _clean_up(self, connection: asyncpg.Connection[asyncpg.Record], error: BaseException) -> None:
        """Leave no transaction behind: roll back, or let the connection go, which does the same."""
        if _is_lost(error) or connection.is_closed():
            connection.terminate()
            return
        try:
            await connection.execute("ROLLBACK")
        except (*_LOST, asyncpg.PostgresError):
            connection.terminate()
        except BaseException:
            connection.terminate()
            raise

    async def _drive(self, connection: asyncpg.Connection[asyncpg.Record], plan: Plan[T]) -> T:
        try:
            step = next(plan)
            while True:
                step = plan.send(await self._run(connection, step))
        except StopIteration as stop:
            answer: T = stop.value
            return answer

    async def _run(self, connection: asyncpg.Connection[asyncpg.Record], step: Step) -> list[Row]:
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

    async def _all_of(self, connection: asyncpg.Connection[asyncpg.Record], step: AllOf) -> list[Row]:
        whole, arguments = self._batches.all_of(step)
        found: list[list[Row]] = [[] for _ in step.reads]
        for n, row in await connection.fetch(whole.text, *arguments):
            found[n].append(row)
        return list(found)

    async def _at_once(self, connection: asyncpg.Connection[asyncpg.Record], step: AtOnce) -> list[Row]:
        whole = self._batches.at_once(step)
        arguments = whole.arguments((*step.certain, *step.writes))
        try:
            done: list[Row] = await connection.fetch(
                whole.text, *arguments, sum(len(sure.rows) for sure in step.certain)
            )
        except _OVERTAKEN:
            return []
        return done

    async def close(self) -> None:
        async with self._turn:
            self._closed = True
            if self._opening is not None:
                with suppress(*_LOST, asyncpg.PostgresError):
                    self._connection = await self._opening
            if self._connection is not None and not self._connection.is_closed():
                await self._connection.close(timeout=CONNECT_TIMEOUT)


def translated(error: Exception, *, unknown_outcome: bool) -> Exception:
    """Foreign errors in our words; an error that is not about the database itself stays what it is."""
    if isinstance(error, _MET_ANOTHER):
        return Conflict(str(error))
    if isinstance(error, asyncpg.DiskFullError):
        return Full(f"PostgreSQL has no room left: {error}")
    if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
        return Unavailable(f"PostgreSQL takes no writes: {error}")
    if _is_lost(error):
        if unknown_outcome:
            return Unavailable(f"PostgreSQL was lost during a commit: {error}")
        return Unavailable(f"PostgreSQL was lost: {error}") if _is_down(error) else Conflict(str(error))
    if isinstance(error, asyncpg.PostgresError) and not isinstance(error, _POISON):
        return Unavailable(f"PostgreSQL takes no writes: {error}")
    return error


def _is_lost(error: BaseException) -> bool:
    return isinstance(error, (*_LOST, *_CLOSING)) and not isinstance(error, asyncpg.DiskFullError)


def _is_down(error: Exception) -> bool:
    """A session that the server ended for being idle, or a batch too big to finish, may run again (and be halved)."""
    return not isinstance(error, asyncpg.IdleInTransactionSessionTimeoutError | asyncio.TimeoutError)


async def _leave(_: object) -> None:
    """Readers change nothing of their session: putting it back in order would be a second round trip for each read."""


class PostgresEngine:
    def __init__(self, url: str, readers: asyncpg.Pool[asyncpg.Record], statements: Mapping[str, Statement]) -> None:
        self._statements = statements
        batches = Batches(statements)
        self._lines = {lane: Line(url, statements, batches) for lane in Lane}
        self._apart: dict[LineName, Line] = {name: Line(url, statements, batches) for name in get_args(LineName)}
        self._readers = readers
        self.writer = Writer(self._carry_out, SHORT_WAYS)

    async def _carry_out(self, lane: Lane, plan: Plan[T]) -> T:
        line = self._lines[lane]
        return await (line.transact(plan) if lane is Lane.LONG else line.step_by_step(plan))

    @classmethod
    async def open(cls, url: str, *, readers: int = 4) -> PostgresEngine:
        """Connect and make sure that the schema is the one this code was made for."""
        try:
            pool = await asyncpg.create_pool(
                url,
                min_size=1,
                max_size=readers,
                timeout=CONNECT_TIMEOUT,
                command_timeout=ANSWER_TIMEOUT,
                target_session_attrs=TAKES_WRITES,
                server_settings={"application_name": "waypost-read", "jit": "off"},
                reset=_leave,
            )
        except (*_LOST, asyncpg.PostgresError) as error:
            raise Unavailable(f"PostgreSQL cannot be reached: {str(error) or 'no answer'}") from error
        engine = cls(url, pool, await asyncio.to_thread(dialect, PACKAGE))
        try:
            await engine.ping()
        except BaseException:
            pool.terminate()
            raise
        return engine

    def now(self) -> Instant:
        """Only a fall-back for statements that take a clock; PostgreSQL's own decides (`door_tick`)."""
        return Instant(time.time_ns() // 1000)

    async def transact(self, plan: Plan[T], line: LineName = "claims") -> T:
        try:
            return await self._apart[line].transact(plan)
        except (Conflict, *_OF_THE_DATABASE) as error:
            raise alone(error) from error

    async def read(self, statement: str, *arguments: object) -> list[Row]:
        try:
            found: list[Row] = await self._readers.fetch(self._statements[statement].text, *arguments)
        except (*_LOST, *_OF_THE_DATABASE) as error:
            raise alone(translated(error, unknown_outcome=False)) from error
        return found

    async def ping(self) -> None:
        try:
            async with self._readers.acquire() as connection:
                await check_version(connection)
        except (*_LOST, *_CLOSING) as error:
            raise Unavailable(f"PostgreSQL cannot be reached: {str(error) or 'no answer'}") from error

    async def close(self) -> None:
        await self.writer.close()
        for line in (*self._lines.values(), *self._apart.values()):
            await line.close()
        await self._readers.close()

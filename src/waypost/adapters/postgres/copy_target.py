"""A PostgreSQL database as a whole: exclusive use, restore, and the target of a copy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import msgspec
from asyncpg.connect_utils import SessionAttribute

from waypost.adapters.postgres.access import TAKES_WRITES
from waypost.adapters.postgres.schema import COPYING, MOVED, PACKAGE, SchemaConnection, there, version
from waypost.adapters.sql.engine.copying import (
    CopiedRow,
    CopyColumn,
    CopyRefused,
    CopyTable,
    is_truth,
    is_words,
    key_of,
)
from waypost.adapters.sql.engine.migrations import require_current
from waypost.adapters.sql.engine.upkeep import DatabaseInUse, RestoreOptions, RestoreResult, statements
from waypost.ports.platform.failure import Unavailable

NAME = "waypost-admin"
_OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'waypost%'
"""
_COLUMNS = """
SELECT c.table_name, c.column_name, c.data_type, c.is_identity = 'YES'
FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.table_name <> ALL ($1::text[])
ORDER BY c.table_name <> 'org', c.table_name, c.ordinal_position
"""
_KEYS = """
SELECT i.indrelid::regclass::text, a.attname FROM pg_index i
CROSS JOIN LATERAL unnest(i.indkey::int[]) WITH ORDINALITY AS k (number, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
JOIN pg_class t ON t.oid = i.indrelid
WHERE i.indisprimary AND t.relnamespace = current_schema()::regnamespace ORDER BY 1, k.place
"""
_SEEDED = "door"
"""The migration that creates this table also inserts its one row."""
_WHOLE = "whole"
_LOST = (OSError, TimeoutError, asyncpg.InterfaceError, asyncpg.InternalClientError)


@asynccontextmanager
async def connected(url: str, *, to_look: bool = False) -> AsyncIterator[SchemaConnection]:
    """An operator's connection without a time limit; translates PostgreSQL's errors.

    With `to_look`, a standby is enough if there is no primary.
    """
    try:
        try:
            connection = await _opened(url, TAKES_WRITES)
        except asyncpg.TargetServerAttributeNotMatched:
            if not to_look:
                raise
            connection = await _opened(url, SessionAttribute.any)
    except (*_LOST, asyncpg.PostgresError, ValueError) as error:
        raise Unavailable(f"PostgreSQL cannot be reached: {str(error) or 'no answer'}") from error
    try:
        yield connection
    except (*_LOST, asyncpg.PostgresError) as error:
        raise Unavailable(f"PostgreSQL failed: {str(error) or 'no answer'}") from error
    finally:
        await connection.close(timeout=5)


async def _opened(url: str, which: SessionAttribute) -> SchemaConnection:
    """Uses nothing that a pooler would refuse."""
    return await asyncpg.connect(
        url, timeout=10, target_session_attrs=which, server_settings={"application_name": NAME}, statement_cache_size=0
    )


async def require_exclusive_use(connection: SchemaConnection) -> None:
    """Every Waypost connection has an application name that starts with `waypost`."""
    others = await connection.fetchval(_OTHERS)
    if others:
        raise DatabaseInUse(
            f"Waypost is running on this database: PostgreSQL lists {others} other connections named waypost "
            "(pg_stat_activity). Stop its servers first"
        )


async def require_schema(connection: SchemaConnection) -> None:
    await asyncio.to_thread(require_current, PACKAGE, await version(connection))


async def restore(url: str, restoring: RestoreOptions) -> RestoreResult:
    """Run the statements of waypost.adapters.sql.engine.upkeep; all or nothing."""
    async with connected(url) as connection:
        await require_schema(connection)
        await require_exclusive_use(connection)
        known = await tables(connection)
        todo = await asyncio.to_thread(statements, restoring, {table.name for table in known})
        async with connection.transaction():
            counts = {}
            for each in todo:
                done = await connection.execute(each.text)
                counts[each.name] = int(done.rpartition(" ")[2])
            for table in known:
                if table.numbered:
                    last = await numbering(connection, table.name)
                    await _number_from(connection, table.name, last + restoring.ids)
            await connection.execute(f"DROP TABLE IF EXISTS {MOVED}")
        return RestoreResult(counts=counts)


async def tables(connection: SchemaConnection) -> list[CopyTable]:
    """All tables with data, `org` first because others reference it."""
    keys: dict[str, list[str]] = {}
    for table, column in await connection.fetch(_KEYS):
        keys.setdefault(table, []).append(column)
    found: dict[str, list[CopyColumn]] = {}
    identities = set()
    for table, column, kind, identity in await connection.fetch(_COLUMNS, ["waypost_schema", COPYING, MOVED]):
        found.setdefault(table, []).append(CopyColumn(column, kind))
        identities |= {table} if identity else set()
    return [
        CopyTable(name=name, columns=tuple(columns), key=tuple(keys[name]), numbered=name in identities)
        for name, columns in found.items()
    ]


async def numbering(connection: SchemaConnection, table: str) -> int:
    """The highest id ever assigned."""
    sequence = await connection.fetchval("SELECT pg_get_serial_sequence($1, 'id')", table)
    row = await connection.fetchrow(f"SELECT last_value, is_called FROM {sequence}")  # noqa: S608  # PostgreSQL named it
    return int(row[0]) if row[1] else 0


async def _number_from(connection: SchemaConnection, table: str, last: int) -> None:
    if last > 0:
        await connection.execute("SELECT setval(pg_get_serial_sequence($1, 'id'), $2)", table, last)


def selected(column: CopyColumn) -> str:
    """The column in a form that both databases can return."""
    if is_truth(column):
        return f"{column.name}::int"
    if is_words(column):
        return f"array_to_string(tsvector_to_array({column.name}), ' ')"
    return column.name


class DatabaseSource:
    """A database to read from: the source of a copy, or its target during the comparison."""

    def __init__(self, connection: SchemaConnection) -> None:
        self._connection = connection

    async def fetch(self, text: str, arguments: Sequence[Any] = ()) -> list[CopiedRow]:
        return [tuple(row) for row in await self._connection.fetch(text, *arguments)]

    async def numbering(self, table: str) -> int:
        return await numbering(self._connection, table)

    async def moved(self) -> bool:
        return await there(self._connection, MOVED)

    async def move(self) -> None:
        await self._connection.execute(f"CREATE TABLE IF NOT EXISTS {MOVED} (at timestamptz NOT NULL DEFAULT now())")


class Progress(msgspec.Struct, frozen=True):
    """How far a table has been copied."""

    after: list[Any] | None = None
    rows: int = 0
    done: bool = False


class DatabaseTarget:
    """The target of a copy. The progress is stored in the same transaction as the rows."""

    def __init__(self, connection: SchemaConnection) -> None:
        self._connection = connection

    async def begin(self, source: str, known: Sequence[CopyTable], *, anew: bool) -> dict[str, Progress]:
        """The progress of an earlier run; refuses a target that is neither empty nor an unfinished copy of `source`."""
        begun = await there(self._connection, COPYING)
        if anew and not begun:
            raise CopyRefused("--anew only empties a database that holds an unfinished copy, and this one does not")
        if anew:
            await self._empty(known)
        elif begun:
            return await self._continued(source)
        for table in known:
            if table.name != _SEEDED and await self._connection.fetchval(f"SELECT EXISTS (TABLE {table.name})"):
                raise CopyRefused(f"the target is not empty: there are rows in {table.name}. Name an empty database")
        await self._start(source)
        return {}

    async def _empty(self, known: Sequence[CopyTable]) -> None:
        async with self._connection.transaction():
            await self._connection.execute(f"TRUNCATE {', '.join(table.name for table in known)}")
            await self._connection.execute(f"DROP TABLE {COPYING}")

    async def _start(self, source: str) -> None:
        async with self._connection.transaction():
            await self._connection.execute(
                f"CREATE TABLE {COPYING} (name text PRIMARY KEY, source text, progress text)"
            )
            await self._connection.execute(f"INSERT INTO {COPYING} VALUES ('', $1, '')", source)  # noqa: S608
            await self._connection.execute(f"DELETE FROM {_SEEDED}")  # noqa: S608  # our own tables

    async def _continued(self, source: str) -> dict[str, Progress]:
        found = await self._connection.fetch(f"SELECT name, source, progress FROM {COPYING}")  # noqa: S608
        if source not in {row[1] for row in found if row[0] == ""}:
            raise CopyRefused(
                "the target holds part of a copy of another database, or of this one before it was changed: "
                "begin again with --anew"
            )
        return {row[0]: msgspec.json.decode(row[2], type=Progress) for row in found if row[0]}

    async def put(self, table: CopyTable, batch: Sequence[CopiedRow], before: Progress) -> Progress:
        after = Progress(key_of(table, batch[-1]), before.rows + len(batch))
        columns = [list(column) for column in zip(*batch, strict=True)]
        async with self._connection.transaction():
            try:
                await self._connection.execute(_insert(table), *columns)
            except asyncpg.DataError as error:
                raise CopyRefused(f"PostgreSQL cannot hold a row of {table.name}: {error}") from error
            await self._note(table, after)
        return after

    async def done(self, table: CopyTable, progress: Progress, last: int | None) -> Progress:
        """Mark a table as copied; `last` is the highest id ever assigned."""
        ended = msgspec.structs.replace(progress, done=True)
        if last is not None:
            await _number_from(self._connection, table.name, last)
        await self._note(table, ended)
        return ended

    async def _note(self, table: CopyTable, progress: Progress) -> None:
        encoded = msgspec.json.encode(_readable(progress)).decode()
        put = f"INSERT INTO {COPYING} VALUES ($1, NULL, $2) ON CONFLICT (name) DO UPDATE SET progress = $2"  # noqa: S608
        await self._connection.execute(put, table.name, encoded)

    async def compared(self) -> None:
        """Mark the copy as complete, with a commit that also flushes the earlier asynchronous ones to disk."""
        await self._connection.execute("SET synchronous_commit = on")
        await self._connection.execute(f"UPDATE {COPYING} SET progress = $1 WHERE name = ''", _WHOLE)  # noqa: S608

    async def is_whole(self) -> bool:
        """Whether an earlier run has compared the copy but was interrupted before it finished."""
        if not await there(self._connection, COPYING):
            return False
        found = await self._connection.fetchval(f"SELECT progress FROM {COPYING} WHERE name = ''")  # noqa: S608
        return bool(found == _WHOLE)

    async def has(self, orgs: Sequence[CopiedRow]) -> bool:
        """Whether it is not an unfinished copy, and has at least these orgs with the same creation times."""
        if not orgs or await there(self._connection, COPYING) or not await there(self._connection, "org"):
            return False
        found = {tuple(row) for row in await self._connection.fetch("SELECT id, created_at FROM org")}
        return found >= set(orgs)

    async def finish(self) -> None:
        """Allow servers to start on it."""
        await self._connection.execute(f"DROP TABLE {COPYING}")
        await self._connection.execute("ANALYZE")


def _readable(progress: Progress) -> Progress:
    if any(isinstance(part, bytes) for part in progress.after or ()):
        raise CopyRefused("a binary key cannot be stored as progress")  # no table has one
    return progress


def _insert(table: CopyTable) -> str:
    """An INSERT that takes one array per column."""
    names = ", ".join(column.name for column in table.columns)
    arrays = ", ".join(f"${n + 1}::{_carried(column)}[]" for n, column in enumerate(table.columns))
    values = ", ".join(_value(column) for column in table.columns)
    return f"INSERT INTO {table.name} ({names}) SELECT {values} FROM unnest({arrays}) AS u ({names})"  # noqa: S608


def _carried(column: CopyColumn) -> str:
    if is_truth(column):
        return "integer"
    return "text" if is_words(column) else column.type


def _value(column: CopyColumn) -> str:
    if is_truth(column):
        return f"u.{column.name}::boolean"
    if is_words(column):
        return f"array_to_tsvector(string_to_array(u.{column.name}, ' '))"
    return f"u.{column.name}"

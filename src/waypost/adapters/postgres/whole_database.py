"""One PostgreSQL database as a whole: who works on it, what a restore changes, and a copy that goes into it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import msgspec
from asyncpg.connect_utils import SessionAttribute

from waypost.adapters.postgres.access import TAKES_WRITES
from waypost.adapters.postgres.schema import COPYING, MOVED, PACKAGE, Connection, there, version
from waypost.adapters.sql.copying import Column, CopyRefused, Row, Table, is_truth, is_words, key_of
from waypost.adapters.sql.migrations import require_current
from waypost.adapters.sql.upkeep import InUse, Restored, Restoring, statements
from waypost.ports.failure import Unavailable

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
"""Its one row is made with the table."""
_WHOLE = "whole"
_LOST = (OSError, TimeoutError, asyncpg.InterfaceError, asyncpg.InternalClientError)


@asynccontextmanager
async def connected(url: str, *, to_look: bool = False) -> AsyncIterator[Connection]:
    """A connection of an operator's, for as long as it takes; what PostgreSQL says against it, in our words.

    To look, a standby will do where there is nobody else.
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
        raise Unavailable(f"PostgreSQL did not do it: {str(error) or 'no answer'}") from error
    finally:
        await connection.close(timeout=5)


async def _opened(url: str, which: SessionAttribute) -> Connection:
    """With nothing that a pooler would refuse."""
    return await asyncpg.connect(
        url, timeout=10, target_session_attrs=which, server_settings={"application_name": NAME}, statement_cache_size=0
    )


async def require_alone(connection: Connection) -> None:
    """Every connection of Waypost bears its name."""
    others = await connection.fetchval(_OTHERS)
    if others:
        raise InUse(
            f"Waypost is running on this database: PostgreSQL lists {others} other connections named waypost "
            "(pg_stat_activity). Stop its servers first"
        )


async def require_schema(connection: Connection) -> None:
    await asyncio.to_thread(require_current, PACKAGE, await version(connection))


async def restored(url: str, restoring: Restoring) -> Restored:
    """As waypost.adapters.sql.upkeep has it; all of it or nothing."""
    async with connected(url) as connection:
        await require_schema(connection)
        await require_alone(connection)
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
        return Restored(counts=counts)


async def tables(connection: Connection) -> list[Table]:
    """All that hold data, `org` first: others refer to it."""
    keys: dict[str, list[str]] = {}
    for table, column in await connection.fetch(_KEYS):
        keys.setdefault(table, []).append(column)
    found: dict[str, list[Column]] = {}
    identities = set()
    for table, column, kind, identity in await connection.fetch(_COLUMNS, ["waypost_schema", COPYING, MOVED]):
        found.setdefault(table, []).append(Column(column, kind))
        identities |= {table} if identity else set()
    return [
        Table(name=name, columns=tuple(columns), key=tuple(keys[name]), numbered=name in identities)
        for name, columns in found.items()
    ]


async def numbering(connection: Connection, table: str) -> int:
    """The highest id that was ever given away."""
    sequence = await connection.fetchval("SELECT pg_get_serial_sequence($1, 'id')", table)
    row = await connection.fetchrow(f"SELECT last_value, is_called FROM {sequence}")  # noqa: S608  # PostgreSQL named it
    return int(row[0]) if row[1] else 0


async def _number_from(connection: Connection, table: str, last: int) -> None:
    if last > 0:
        await connection.execute("SELECT setval(pg_get_serial_sequence($1, 'id'), $2)", table, last)


def selected(column: Column) -> str:
    """As both databases can give it."""
    if is_truth(column):
        return f"{column.name}::int"
    if is_words(column):
        return f"array_to_string(tsvector_to_array({column.name}), ' ')"
    return column.name


class DatabaseSource:
    """What is read from: the other database of a copy, or its target when the two are compared."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def fetch(self, text: str, arguments: Sequence[Any] = ()) -> list[Row]:
        return [tuple(row) for row in await self._connection.fetch(text, *arguments)]

    async def numbering(self, table: str) -> int:
        return await numbering(self._connection, table)

    async def moved(self) -> bool:
        return await there(self._connection, MOVED)

    async def move(self) -> None:
        await self._connection.execute(f"CREATE TABLE IF NOT EXISTS {MOVED} (at timestamptz NOT NULL DEFAULT now())")


class Progress(msgspec.Struct, frozen=True):
    """How far a table is."""

    after: list[Any] | None = None
    rows: int = 0
    done: bool = False


class DatabaseTarget:
    """Where a copy goes. How far it is stands beside what was copied, in the same transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def begin(self, source: str, known: Sequence[Table], *, anew: bool) -> dict[str, Progress]:
        """How far an earlier run came; refuses what is neither empty nor an unfinished copy of the same `source`."""
        begun = await there(self._connection, COPYING)
        if anew and not begun:
            raise CopyRefused("--anew empties only a database into which a copy was begun, and this is none")
        if anew:
            await self._empty(known)
        elif begun:
            return await self._continued(source)
        for table in known:
            if table.name != _SEEDED and await self._connection.fetchval(f"SELECT EXISTS (TABLE {table.name})"):
                raise CopyRefused(f"the target is not empty: there are rows in {table.name}. Name an empty database")
        await self._start(source)
        return {}

    async def _empty(self, known: Sequence[Table]) -> None:
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

    async def put(self, table: Table, batch: Sequence[Row], before: Progress) -> Progress:
        after = Progress(key_of(table, batch[-1]), before.rows + len(batch))
        columns = [list(column) for column in zip(*batch, strict=True)]
        async with self._connection.transaction():
            try:
                await self._connection.execute(_insert(table), *columns)
            except asyncpg.DataError as error:
                raise CopyRefused(f"PostgreSQL cannot hold a row of {table.name}: {error}") from error
            await self._note(table, after)
        return after

    async def done(self, table: Table, progress: Progress, last: int | None) -> Progress:
        """All its rows are here; `last` is the highest id that was given away."""
        ended = msgspec.structs.replace(progress, done=True)
        if last is not None:
            await _number_from(self._connection, table.name, last)
        await self._note(table, ended)
        return ended

    async def _note(self, table: Table, progress: Progress) -> None:
        told = msgspec.json.encode(_readable(progress)).decode()
        put = f"INSERT INTO {COPYING} VALUES ($1, NULL, $2) ON CONFLICT (name) DO UPDATE SET progress = $2"  # noqa: S608
        await self._connection.execute(put, table.name, told)

    async def compared(self) -> None:
        """It is whole, and on disk: what was written before without waiting for that is so, too."""
        await self._connection.execute("SET synchronous_commit = on")
        await self._connection.execute(f"UPDATE {COPYING} SET progress = $1 WHERE name = ''", _WHOLE)  # noqa: S608

    async def is_whole(self) -> bool:
        """An earlier run has compared it, and was cut before it could say so."""
        if not await there(self._connection, COPYING):
            return False
        found = await self._connection.fetchval(f"SELECT progress FROM {COPYING} WHERE name = ''")  # noqa: S608
        return bool(found == _WHOLE)

    async def has(self, orgs: Sequence[Row]) -> bool:
        """Whether it is no unfinished copy, and has at least these orgs, with when each was made."""
        if not orgs or await there(self._connection, COPYING) or not await there(self._connection, "org"):
            return False
        found = {tuple(row) for row in await self._connection.fetch("SELECT id, created_at FROM org")}
        return found >= set(orgs)

    async def finish(self) -> None:
        """From now on a server may start on it."""
        await self._connection.execute(f"DROP TABLE {COPYING}")
        await self._connection.execute("ANALYZE")


def _readable(progress: Progress) -> Progress:
    if any(isinstance(part, bytes) for part in progress.after or ()):
        raise CopyRefused("a key of bytes cannot be written down")  # no table has one
    return progress


def _insert(table: Table) -> str:
    """Arrays of columns in, rows of the table out."""
    names = ", ".join(column.name for column in table.columns)
    arrays = ", ".join(f"${n + 1}::{_carried(column)}[]" for n, column in enumerate(table.columns))
    values = ", ".join(_value(column) for column in table.columns)
    return f"INSERT INTO {table.name} ({names}) SELECT {values} FROM unnest({arrays}) AS u ({names})"  # noqa: S608


def _carried(column: Column) -> str:
    if is_truth(column):
        return "integer"
    return "text" if is_words(column) else column.type


def _value(column: Column) -> str:
    if is_truth(column):
        return f"u.{column.name}::boolean"
    if is_words(column):
        return f"array_to_tsvector(string_to_array(u.{column.name}, ' '))"
    return f"u.{column.name}"

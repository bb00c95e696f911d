"""The PostgreSQL schema: its version, and its migrations."""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

import asyncpg

from waypost.adapters.postgres.access import TAKES_WRITES
from waypost.adapters.sql.engine import copying
from waypost.adapters.sql.engine.migrations import WrongSchema, pending, require_current
from waypost.ports.platform.failure import Unavailable

PACKAGE = "waypost.adapters.postgres"
COPYING = "waypost_copy"
"""A table that exists until `waypost admin copy` has finished: until then the database is incomplete."""
MOVED = "waypost_moved"
"""A table that marks a database as copied to another one: no server starts on it."""
_ONE_AT_A_TIME = 0x57415950  # an advisory lock: "WAYP"
_UNREACHED = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)

SchemaConnection: TypeAlias = Any  # asyncpg's pool returns proxies


async def version(connection: SchemaConnection) -> int:
    if not await connection.fetchval("SELECT to_regclass('waypost_schema') IS NOT NULL"):
        return 0
    return int(await connection.fetchval("SELECT version FROM waypost_schema"))


async def there(connection: SchemaConnection, table: str) -> bool:
    return bool(await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", table))


async def check_version(connection: SchemaConnection) -> None:
    if await there(connection, COPYING):
        raise WrongSchema("a copy into this database is not finished: run the same `waypost admin copy` again")
    if await there(connection, MOVED):
        raise WrongSchema(copying.MOVED)
    await asyncio.to_thread(require_current, PACKAGE, await version(connection))  # it reads files


async def migrate(url: str) -> list[str]:
    """Apply missing migrations, one process at a time; returns their names."""
    try:
        connection = await asyncpg.connect(url, timeout=10, target_session_attrs=TAKES_WRITES)
    except _UNREACHED as error:
        raise Unavailable(f"PostgreSQL cannot be reached: {str(error) or 'no answer'}") from error
    try:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _ONE_AT_A_TIME)
            await connection.execute("CREATE TABLE IF NOT EXISTS waypost_schema (version integer NOT NULL)")
            if not await connection.fetchval("SELECT count(*) FROM waypost_schema"):
                await connection.execute("INSERT INTO waypost_schema VALUES (0)")
            missing = await asyncio.to_thread(pending, PACKAGE, await version(connection))
            for migration in missing:
                await connection.execute(migration.text)
                await connection.execute("UPDATE waypost_schema SET version = $1", migration.version)
            return [migration.name for migration in missing]
    finally:
        await connection.close()

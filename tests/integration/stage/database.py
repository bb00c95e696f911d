"""A migrated database for one test, and direct access to it past the Ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import apsw
import asyncpg

from waypost.adapters.postgres.engine import PostgresEngine
from waypost.adapters.postgres.fast_paths import FAST_PATHS
from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import ThreadedEngine
from waypost.model.time import Instant, Span


@dataclass
class Database:
    """A migrated database for one test."""

    kind: Literal["sqlite", "postgres"]
    url: str
    _connection: Any = None

    @property
    def path(self) -> Path:
        return Path(self.url.removeprefix("sqlite:///"))

    async def ledger(self, now: Callable[[], Instant]) -> SqlLedger:
        if self.kind == "postgres":
            return SqlLedger(await PostgresEngine.open(self.url, readers=2), FAST_PATHS)
        return SqlLedger(await asyncio.to_thread(ThreadedEngine, self.path, now))

    async def put_back_last_tick(self, span: Span) -> None:
        """PostgreSQL's clock cannot be set: to let an hour pass, the last tick is moved back by an hour."""
        if self.kind == "postgres":
            for table in ("door", "webhook_listener"):
                await self.run(f"UPDATE {table} SET ticked_at = ticked_at - {int(span)}")

    async def refuse_writes(self, table: str, verb: str = "INSERT") -> None:
        """Break a constraint: this table accepts no such write until `take_writes`."""
        if self.kind == "sqlite":
            body = "BEGIN SELECT RAISE(ABORT, 'broken by the test'); END"
            await self.run(f"CREATE TRIGGER broken BEFORE {verb} ON {table} {body}")
            return
        await self.run(
            "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE check_violation USING MESSAGE = 'broken by the test'; END $$"
        )
        await self.run(f"CREATE TRIGGER broken BEFORE {verb} ON {table} FOR EACH ROW EXECUTE FUNCTION broken()")

    async def take_writes(self, table: str) -> None:
        if self.kind == "sqlite":
            await self.run("DROP TRIGGER broken")
        else:
            await self.run(f"DROP TRIGGER broken ON {table}")
            await self.run("DROP FUNCTION broken")

    async def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Direct access past the Ledger."""
        if self.kind == "sqlite":
            return await asyncio.to_thread(self._run_sqlite, sql)
        if self._connection is None:
            self._connection = await asyncpg.connect(self.url)
        return [tuple(row) for row in await self._connection.fetch(sql)]

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    def _run_sqlite(self, sql: str) -> list[tuple[Any, ...]]:
        connection = apsw.Connection(str(self.path))
        connection.set_busy_timeout(5000)
        try:
            return list(connection.execute(sql))
        finally:
            connection.close()


_SWEEP = """
CREATE FUNCTION pg_temp.sweep() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    name text;
    used boolean;
BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        CONTINUE WHEN name IN ('waypost_schema', 'door');
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', name) INTO used;
        IF used THEN
            EXECUTE format('DELETE FROM %I', name);
        END IF;
    END LOOP;
    UPDATE door SET open_total = 0, refused_total = 0, ticked_at = 0;
    PERFORM setval(sequencename::regclass, 1, false) FROM pg_sequences WHERE schemaname = 'public';
    DROP FUNCTION IF EXISTS public.broken CASCADE;
END $$
"""
"""As after the migration: no rows, sequences at their start, nothing broken by a test."""


class Sweeper:
    """A database that many tests use in turn, and an open connection that empties it quickly."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._runner = asyncio.Runner()
        self._connection: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            self._runner.run(self._connection.close())
        self._runner.close()

    def sweep(self) -> None:
        self._runner.run(self._sweep())

    async def _sweep(self) -> None:
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(self.url)
            await self._connection.execute("SET client_min_messages = warning")  # a missing one is fine
            await self._connection.execute("SET session_replication_role = replica")
            await self._connection.execute(_SWEEP)
        await self._connection.execute("SELECT pg_temp.sweep()")

"""A migrated database of a test's own, and a hand on it past the Ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import apsw
import asyncpg

from waypost.adapters.postgres.engine import PostgresEngine
from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import ThreadedEngine
from waypost.model.time import Instant, Span


@dataclass
class Database:
    """A migrated database of a test's own."""

    kind: Literal["sqlite", "postgres"]
    url: str
    _connection: Any = None

    @property
    def path(self) -> Path:
        return Path(self.url.removeprefix("sqlite:///"))

    async def ledger(self, now: Callable[[], Instant]) -> SqlLedger:
        if self.kind == "postgres":
            return SqlLedger(await PostgresEngine.open(self.url))
        return SqlLedger(await asyncio.to_thread(ThreadedEngine, self.path, now))

    async def put_back_last_tick(self, span: Span) -> None:
        """PostgreSQL's clock cannot be set: an hour that passes is a last tick that was an hour earlier."""
        if self.kind == "postgres":
            await self.run(f"UPDATE door SET ticked_at = ticked_at - {int(span)}")

    async def refuse_writes(self, table: str, verb: str = "INSERT") -> None:
        """Break a constraint: this table takes no such write until `take_writes`."""
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
        """A look past the Ledger, or a hand on it."""
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

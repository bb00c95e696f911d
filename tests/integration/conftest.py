"""Databases and stages for the tests of the HTTP edge and the steps behind it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.integration.database import Database
from tests.integration.harness import Stage, live_clock
from tests.integration.log_apart import ShakyLog
from tests.integration.staging import open_stage, settle_in
from tests.integration.thinking import PatientBot
from tests.integration.webhooks import Account, a_number
from waypost.adapters.postgres.schema import migrate
from waypost.adapters.sqlite.store import Store
from waypost.runtime.server import Role
from waypost.testing.services import Postgres

OpenStage: TypeAlias = Callable[..., Awaitable[Stage]]


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the schema in it, to be copied."""
    path = tmp_path_factory.mktemp("template") / "waypost.db"
    store = Store(path)
    store.migrate()
    store.close()
    return path


@pytest.fixture(scope="session")
def shared_postgres(postgres: Postgres) -> Database:
    """One database with the schema in it for all these tests, cleared for each: a fresh one takes ten times as long."""
    template = postgres.create_database()
    asyncio.run(migrate(template))
    return Database("postgres", postgres.create_database(template=template.rpartition("/")[2]))


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request: pytest.FixtureRequest) -> Database:
    """An empty database of each kind."""
    if request.param == "postgres":
        shared: Database = request.getfixturevalue("shared_postgres")
        asyncio.run(cleared(shared))
        return shared
    path = request.getfixturevalue("tmp_path") / "waypost.db"
    shutil.copy(request.getfixturevalue("empty_sqlite"), path)
    return Database("sqlite", f"sqlite:///{path}")


async def cleared(database: Database) -> None:
    """As after the migration: no row, no number given out, nothing that a test broke."""
    await database.run("SET session_replication_role = replica")
    tables = await database.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    for (table,) in tables:
        if table not in ("waypost_schema", "door"):
            await database.run(f"DELETE FROM {table}")
    await database.run("UPDATE door SET open_total = 0, ticked_at = 0")
    await database.run("SELECT setval(sequencename::regclass, 1, false) FROM pg_sequences WHERE schemaname = 'public'")
    await database.run("DROP FUNCTION IF EXISTS broken CASCADE")
    await database.close()


@pytest.fixture
async def set_up(ledger: Database) -> AsyncIterator[OpenStage]:
    """For a test with settings of its own: `stage = await set_up(outbound_unsure="park")`."""
    async with AsyncExitStack() as stack:

        async def opened(**options: Any) -> Stage:
            return await stack.enter_async_context(open_stage(ledger, **options))

        yield opened


@pytest.fixture
async def stage(set_up: OpenStage) -> Stage:
    return await set_up()


@pytest.fixture
async def quiet(set_up: OpenStage) -> Stage:
    """Nobody sends, so that what is queued stays and can be looked at."""
    return await set_up(roles=frozenset({Role.API}), outbound_quota=1000, outbound_pace=80)


@pytest.fixture
async def lively(set_up: OpenStage) -> Stage:
    """Real time, since a number's pace is kept by it; no windows."""
    return await set_up(clock=live_clock(), outbound_window="ignore", outbound_quota=1000, outbound_pace=80)


@pytest.fixture
async def initech(stage: Stage) -> Account:
    """An org of its own behind the same Meta app as acme: the same app secret."""
    account = Account("initech", "", a_number("3001", app_secret=stage.acme.number.app_secret))
    await settle_in(stage, account)
    return account


@pytest.fixture
def bot() -> PatientBot:
    return PatientBot()


@pytest.fixture
async def talking(set_up: OpenStage, bot: PatientBot) -> Stage:
    return await set_up(bot=bot)


@pytest.fixture
def log() -> ShakyLog:
    """The Log of the stage `apart`."""
    return ShakyLog()


@pytest.fixture
async def apart(set_up: OpenStage, log: ShakyLog) -> Stage:
    return await set_up(log=log)

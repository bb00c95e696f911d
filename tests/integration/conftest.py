"""Databases and stages for the tests of the HTTP edge and the steps behind it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.integration.stage.database import Database, Sweeper
from tests.integration.stage.harness import Stage, live_clock
from tests.integration.stage.history_apart import ShakyLog
from tests.integration.stage.staging import open_stage, settle_in
from tests.integration.stage.thinking import PatientBot
from tests.integration.stage.webhooks import Account, a_number
from waypost.adapters.postgres.schema import migrate
from waypost.adapters.sqlite.store import SqliteStore
from waypost.runtime.process.server import ProcessRole
from waypost_testing.services.processes import Postgres

OpenStage: TypeAlias = Callable[..., Awaitable[Stage]]


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the schema in it, to be copied."""
    path = tmp_path_factory.mktemp("template") / "waypost.db"
    store = SqliteStore(path)
    store.migrate()
    store.close()
    return path


@pytest.fixture(scope="session")
def shared_postgres(postgres: Postgres) -> Iterator[Sweeper]:
    """One database with the schema in it for all these tests, swept for each: a fresh one takes fifty times as long."""
    url = postgres.create_database()
    asyncio.run(migrate(url))
    with Sweeper(url) as sweeper:
        yield sweeper


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request: pytest.FixtureRequest) -> Database:
    """An empty database of each kind."""
    if request.param == "postgres":
        sweeper: Sweeper = request.getfixturevalue("shared_postgres")
        sweeper.sweep()
        return Database("postgres", sweeper.url)
    path = request.getfixturevalue("tmp_path") / "waypost.db"
    shutil.copy(request.getfixturevalue("empty_sqlite"), path)
    return Database("sqlite", f"sqlite:///{path}")


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
    return await set_up(roles=frozenset({ProcessRole.API}), outbound_quota=1000, outbound_pace=80)


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
    """The history store of the stage `apart`."""
    return ShakyLog()


@pytest.fixture
async def apart(set_up: OpenStage, log: ShakyLog) -> Stage:
    return await set_up(log=log)

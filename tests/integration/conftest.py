"""Databases and stages for the tests of the HTTP edge and the steps behind it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.integration.harness import Database, Stage, open_stage
from waypost.adapters.postgres.schema import migrate
from waypost.adapters.sqlite.store import Store
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
def empty_postgres(postgres: Postgres) -> str:
    """The name of a database with the schema in it, to be copied."""
    url = postgres.create_database()
    asyncio.run(migrate(url))
    return url.rpartition("/")[2]


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A fresh database of each kind."""
    if request.param == "sqlite":
        path = request.getfixturevalue("tmp_path") / "waypost.db"
        shutil.copy(request.getfixturevalue("empty_sqlite"), path)
        yield Database("sqlite", f"sqlite:///{path}")
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    url = postgres.create_database(template=request.getfixturevalue("empty_postgres"))
    yield Database("postgres", url)
    postgres.drop_database(url)


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

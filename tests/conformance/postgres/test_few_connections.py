"""PostgreSQL has no room for another connection: a process goes on with those it has, and gives back idle ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import get_args

import asyncpg
import pytest

from tests.started import or_skip
from waypost.adapters.postgres import engine as engines
from waypost.adapters.postgres.engine import PostgresEngine
from waypost.adapters.postgres.facts import connections_left, facts
from waypost.adapters.postgres.fast_paths import FAST_PATHS
from waypost.adapters.postgres.schema import migrate
from waypost.adapters.sql.engine.engine import CommitQueue, ConnectionName
from waypost.adapters.sql.engine.plan import Once, Plan
from waypost.adapters.sql.ledger import SqlLedger
from waypost.model.message import Status
from waypost.ports.platform.failure import Unavailable
from waypost_testing.contracts.examples import accept, claim, status, submit
from waypost_testing.services.processes import Postgres

MOST, RESERVED = 16, 3
READERS = 2
PATIENCE = 60.0
BUSY = 20


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with or_skip(Postgres({"max_connections": str(MOST), "superuser_reserved_connections": str(RESERVED)})) as server:
        server.command("CREATE ROLE app LOGIN")
        yield server


@pytest.fixture
def url(server: Postgres) -> Iterator[str]:
    url = server.create_database()
    server.command(f'ALTER DATABASE "{url.rpartition("/")[2]}" OWNER TO app')
    yours = url.replace("//postgres@", "//app@")
    asyncio.run(migrate(yours))
    yield yours
    server.drop_database(url)


@asynccontextmanager
async def others(url: str, *, leaving: int = 0) -> AsyncIterator[list[asyncpg.Connection[asyncpg.Record]]]:
    """Take every free connection, then give some back."""
    taken: list[asyncpg.Connection[asyncpg.Record]] = []
    try:
        while True:
            try:
                taken.append(await asyncpg.connect(url))
            except asyncpg.TooManyConnectionsError:
                break
        for _ in range(leaving):
            await taken.pop().close()
        yield taken
    finally:
        for each in taken:
            await each.close()


async def opened(url: str) -> PostgresEngine:
    """As a supervisor does it: again and again. A connection that was closed is free a moment later."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await PostgresEngine.open(url, readers=READERS)
            except Unavailable:
                await asyncio.sleep(0.05)


def held(engine: PostgresEngine) -> int:
    return sum(each.is_open for each in engine._all)


def asking() -> Plan[None]:
    yield Once("door_total", ())


async def everywhere(engine: PostgresEngine) -> None:
    """Every kind of work at once."""
    await asyncio.gather(
        *(engine.read("door_total") for _ in range(BUSY)),
        *(engine.transact(asking(), line) for line in get_args(ConnectionName) for _ in range(BUSY)),
        *(engine.run(queue, asking()) for queue in CommitQueue for _ in range(BUSY)),
    )


async def send(ledger: SqlLedger) -> None:
    messages = await asyncio.gather(*(submit(ledger) for _ in range(BUSY)))
    await asyncio.gather(*(accept(ledger, each) for each in await claim(ledger)))
    assert [await status(ledger, message.id) for message in messages] == [Status.SENT] * BUSY


async def test_one_connection_is_enough_for_every_kind_of_work(url: str) -> None:
    async with others(url, leaving=1):
        engine = await opened(url)
        ledger = SqlLedger(engine, FAST_PATHS)
        await asyncio.gather(everywhere(engine), send(ledger))
        assert held(engine) == 1
        await ledger.close()


async def test_a_process_without_a_connection_gets_one_that_another_gives_back(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rich = await opened(url)
    await everywhere(rich)
    assert held(rich) == rich.most_connections
    async with others(url):
        with pytest.raises(Unavailable, match=r"no free connection .*: raise max_connections"):
            await PostgresEngine.open(url, readers=READERS)
        monkeypatch.setattr(engines, "LOOK_EVERY", 0.0)
        rich._look_at = 0.0
        await rich.read("door_total")
        assert held(rich) == 1
        poor = await opened(url)
        await asyncio.gather(everywhere(rich), everywhere(poor), send(SqlLedger(poor, FAST_PATHS)))
        await poor.close()
    async with asyncio.timeout(PATIENCE):
        while held(rich) < rich.most_connections:  # the others are gone
            await everywhere(rich)
    await rich.close()


async def test_the_doctor_counts_what_our_role_may_still_open(server: Postgres, url: str) -> None:
    await come_true(url, MOST - RESERVED)
    assert (await facts(url)).connections_left < MOST - RESERVED, "its own"
    await asyncio.to_thread(server.command, "ALTER ROLE app CONNECTION LIMIT 5")
    try:
        await come_true(url, 5)
    finally:
        await asyncio.to_thread(server.command, "ALTER ROLE app CONNECTION LIMIT -1")


async def come_true(url: str, left: int) -> None:
    """A connection that was closed is free a moment later."""
    async with asyncio.timeout(PATIENCE):
        while await connections_left(url) != left:  # noqa: ASYNC110  # PostgreSQL tells nobody
            await asyncio.sleep(0.05)

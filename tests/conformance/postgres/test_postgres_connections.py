"""Connections to PostgreSQL: none is left behind, whichever side goes away and whenever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import asyncpg
import pytest

from waypost.adapters.postgres.access import PostgresAccess
from waypost.adapters.postgres.columns import Batches
from waypost.adapters.postgres.connection_room import ConnectionRoom
from waypost.adapters.postgres.engine import PostgresEngine
from waypost.adapters.postgres.reconnecting import ReconnectingConnection
from waypost.adapters.postgres.schema import PACKAGE, migrate
from waypost.adapters.sql.engine.engine import CommitQueue
from waypost.adapters.sql.engine.plan import Once, Plan, Row
from waypost.adapters.sql.engine.statements import dialect

OURS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'waypost%'"
SOON = 10


@pytest.fixture
async def beside(postgres_url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """Other transactions at work."""
    await migrate(postgres_url)
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


def look() -> Plan[list[Row]]:
    return (yield Once("next_due", ()))


def tick() -> Plan[list[Row]]:
    return (yield Once("door_tick", (0, 0, 0, "one", False, 0, None)))


async def test_a_connection_that_opens_as_its_asker_goes_is_the_next_ones(
    postgres_url: str, beside: asyncpg.Connection[asyncpg.Record]
) -> None:
    statements = await asyncio.to_thread(dialect, PACKAGE)
    line = ReconnectingConnection(PostgresAccess(postgres_url), statements, Batches(statements), ConnectionRoom())
    asker = asyncio.ensure_future(line.transact(look()))
    await asyncio.sleep(0)  # it has asked
    assert line._opening is not None
    line._opening.add_done_callback(lambda _: asker.cancel())  # open already, and not yet given to the caller
    with pytest.raises(asyncio.CancelledError):
        await asker
    await line.transact(look())
    assert await beside.fetchval(OURS) == 1
    await line.close()


@pytest.mark.usefixtures("beside")
async def test_a_read_does_not_wait_for_a_transaction_to_see_how_many_connections_are_left(postgres_url: str) -> None:
    engine = await PostgresEngine.open(postgres_url)
    for queue in CommitQueue:
        await engine.run(queue, look())
    async with AsyncExitStack() as at_work:
        for line in engine._lines.values():
            await at_work.enter_async_context(line._turn)  # as during a COMMIT that hangs
        engine._look_at = 0.0
        async with asyncio.timeout(SOON):
            await engine.read("next_due")
        assert engine._look_at, "it has looked"
    await engine.close()


async def test_an_engine_that_is_not_given_the_time_to_close_leaves_nothing_open(
    postgres_url: str, beside: asyncpg.Connection[asyncpg.Record]
) -> None:
    engine = await PostgresEngine.open(postgres_url)
    await engine.transact(look(), "turns")
    async with beside.transaction():
        await beside.execute("UPDATE door SET open_total = open_total")
        stuck = asyncio.ensure_future(engine.transact(tick()))
        await asyncio.sleep(0)  # it has asked
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await engine.close()
        async with asyncio.timeout(SOON):
            while await beside.fetchval(OURS):  # the server notices when it is done with what it was asked
                await beside.fetchval("SELECT pg_sleep(0.01), pg_stat_clear_snapshot()")
    await asyncio.gather(stuck, return_exceptions=True)

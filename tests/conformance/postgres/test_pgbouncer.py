"""The Ledger through PgBouncer in transaction mode, with fewer connections than commit queues, and how many it uses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import get_args

import asyncpg
import pytest

from tests.conformance.postgres.test_postgres_ledger import EMPTY
from tests.started import or_skip
from waypost.adapters.postgres.access import WRITER_SETTINGS, find_access
from waypost.adapters.postgres.engine import PostgresEngine
from waypost.adapters.postgres.fast_paths import FAST_PATHS
from waypost.adapters.postgres.schema import migrate
from waypost.adapters.sql.engine.engine import CommitQueue, ConnectionName
from waypost.adapters.sql.engine.plan import Once, Plan
from waypost.adapters.sql.ledger import SqlLedger
from waypost.model.time import Span
from waypost_testing.contracts.conversations.turn_queue import TurnQueueContract
from waypost_testing.contracts.examples import Ledgers, PassTime, submit
from waypost_testing.contracts.limits.permits import PermitsContract
from waypost_testing.contracts.sending.outbox import OutboxContract
from waypost_testing.services.pgbouncer import PgBouncer
from waypost_testing.services.processes import Postgres

CONNECTIONS = 3
"""PgBouncer's connections: fewer than one process has commit queues."""


@pytest.fixture(scope="module")
def direct(postgres: Postgres) -> Iterator[str]:
    url = postgres.create_database()
    yield url
    postgres.drop_database(url)


@pytest.fixture(scope="module")
def pooler(postgres: Postgres) -> Iterator[PgBouncer]:
    with or_skip(PgBouncer(postgres, CONNECTIONS)) as pooler:
        yield pooler


@pytest.fixture(scope="module")
def url(pooler: PgBouncer, direct: str) -> str:
    """Migrated through the pooler as well."""
    url = pooler.in_front_of(direct)
    asyncio.run(migrate(url))
    return url


@pytest.fixture(scope="module")
async def connection(url: str, direct: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(direct)
    yield connection
    await connection.close()


@pytest.fixture(scope="module")
async def running(url: str) -> AsyncIterator[Ledgers]:
    first, second = [SqlLedger(await PostgresEngine.open(url), FAST_PATHS) for _ in range(2)]
    yield first, second
    await first.close()
    await second.close()


@pytest.fixture
async def ledgers(running: Ledgers, connection: asyncpg.Connection[asyncpg.Record]) -> Ledgers:
    await connection.execute(EMPTY)
    return running


@pytest.fixture
def ledger(ledgers: Ledgers) -> SqlLedger:
    return ledgers[0]  # type: ignore[return-value]  # made above


@pytest.fixture
def pass_time(connection: asyncpg.Connection[asyncpg.Record]) -> PassTime:
    async def put_back(span: Span) -> None:
        for table in ("door", "webhook_listener"):
            await connection.execute(f"UPDATE {table} SET ticked_at = ticked_at - $1", span)

    return put_back


class TestPooledOutbox(OutboxContract):
    # Hundreds of rounds each, slow because every statement is planned again: they run on PostgreSQL itself.
    test_a_submit_that_races_the_settle_of_the_head_is_never_forgotten = None  # type: ignore[assignment]
    test_a_submit_that_races_the_cancel_of_the_head_is_never_forgotten = None  # type: ignore[assignment]
    test_a_cancel_that_races_the_settle_of_the_head_is_never_in_the_way = None  # type: ignore[assignment]


class TestPooledLanes(TurnQueueContract): ...


class TestPooledPermits(PermitsContract): ...


async def test_a_pooler_is_noticed_whether_it_refuses_the_settings_of_a_session_or_drops_them(
    postgres: Postgres, direct: str, url: str
) -> None:
    assert not (await find_access(direct)).pooled
    assert (await find_access(url)).pooled
    dropped = {"ignore_startup_parameters": ",".join(WRITER_SETTINGS)}
    lenient = await asyncio.to_thread(PgBouncer(postgres, 1, dropped).__enter__)
    try:
        assert (await find_access(lenient.in_front_of(direct))).pooled
    finally:
        await asyncio.to_thread(lenient.__exit__, None, None, None)


async def test_what_a_pooled_transaction_needs_is_set_in_it_and_not_left_behind(url: str) -> None:
    access = await find_access(url)
    connection = await access.line()
    await connection.execute(access.begin)
    shown = {name: await connection.fetchval("SELECT current_setting($1)", name) for name in WRITER_SETTINGS}
    assert shown == WRITER_SETTINGS
    await connection.execute("COMMIT")
    async with connection.transaction():
        assert await connection.fetchval("SELECT current_setting('enable_seqscan')") == "on"
    await connection.close()


async def test_through_a_pooler_two_busy_ledgers_share_a_few_connections(
    ledgers: Ledgers, connection: asyncpg.Connection[asyncpg.Record]
) -> None:
    await asyncio.gather(*(submit(ledger) for ledger in ledgers for _ in range(50)))
    assert await connection.fetchval("SELECT count(*) FROM message") == 100
    assert await held(connection) <= CONNECTIONS


async def test_a_process_never_holds_more_connections_than_it_says(
    url: str, direct: str, connection: asyncpg.Connection[asyncpg.Record]
) -> None:
    before = await held(connection)
    engine = await PostgresEngine.open(direct, readers=2)
    ledger = SqlLedger(engine, FAST_PATHS)

    def asking() -> Plan[None]:
        yield Once("door_total", ())

    for _ in range(3):
        await asyncio.gather(
            *(engine.read("door_total") for _ in range(30)),
            *(engine.transact(asking(), line) for line in get_args(ConnectionName) for _ in range(5)),
            *(engine.run(lane, asking()) for lane in CommitQueue for _ in range(5)),
        )
    assert engine.most_connections == 2 + 7, "say so in docs/how-to/run-on-postgresql.md too"
    assert await held(connection) - before == engine.most_connections
    await ledger.close()


async def held(connection: asyncpg.Connection[asyncpg.Record]) -> int:
    """Connections of everyone but the test itself."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    found: int = await connection.fetchval(sql)
    return found

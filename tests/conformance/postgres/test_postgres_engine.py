"""What is specific to PostgreSQL: locks of other sessions, lost connections, schemas that do not match."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from tests.started import or_skip
from waypost.adapters.postgres import access
from waypost.adapters.postgres.engine import PostgresEngine
from waypost.adapters.postgres.fast_paths import FAST_PATHS
from waypost.adapters.postgres.schema import migrate
from waypost.adapters.sql.engine.migrations import WrongSchema
from waypost.adapters.sql.ledger import SqlLedger
from waypost.model.message import Status
from waypost.model.time import hours
from waypost.ports.platform.failure import Busy, Unavailable
from waypost.ports.sending.outbox import MessageChanged
from waypost_testing.contracts.examples import (
    ORG,
    T0,
    a_draft,
    a_tick,
    attempts,
    claim,
    claim_one,
    later,
    status,
    submit,
)
from waypost_testing.services.processes import Postgres

PATIENCE = 10.0
WAITING = """SELECT l.pid FROM pg_locks l JOIN pg_stat_get_activity(NULL) a ON a.pid = l.pid
JOIN pg_database d ON d.oid = a.datid WHERE NOT l.granted AND d.datname = current_database()"""


@pytest.fixture(scope="module")
def migrated(postgres: Postgres) -> str:
    """The name of a database with the schema in it, to be copied."""
    url = postgres.create_database()
    asyncio.run(migrate(url))
    return url.rpartition("/")[2]


@pytest.fixture
def url(postgres: Postgres, migrated: str) -> Iterator[str]:
    url = postgres.create_database(template=migrated)
    yield url
    postgres.drop_database(url)


@pytest.fixture
async def ledger(url: str) -> AsyncIterator[SqlLedger]:
    ledger = SqlLedger(await PostgresEngine.open(url), FAST_PATHS)
    yield ledger
    await ledger.close()


@pytest.fixture
async def connection(url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


async def somebody_waits(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """Return as soon as a session waits for a lock; only the test and its Ledger use this database."""
    async with asyncio.timeout(PATIENCE):
        while not await connection.fetchval(WAITING):  # noqa: ASYNC110 - PostgreSQL tells nobody who waits
            await asyncio.sleep(0.005)


async def test_a_claim_cancelled_in_the_middle_leaves_nothing_half_done(
    ledger: SqlLedger, connection: asyncpg.Connection[asyncpg.Record]
) -> None:
    message = await submit(ledger)
    async with connection.transaction():
        await connection.execute("LOCK TABLE door IN ACCESS EXCLUSIVE MODE")
        claiming = asyncio.ensure_future(claim(ledger))
        await somebody_waits(connection)  # it has picked the message, and reads the webhook uptime
        claiming.cancel()
        with pytest.raises(asyncio.CancelledError):
            await claiming
    claimed = await claim_one(ledger)
    assert (claimed.id, claimed.fence, claimed.tries) == (message.id, 1, 1)
    assert len(await attempts(ledger, message.id)) == 1


async def test_a_cancelled_transaction_is_not_committed_by_the_next(
    ledger: SqlLedger, connection: asyncpg.Connection[asyncpg.Record]
) -> None:
    message = await submit(ledger, scheduled_at=later(hours(1)))
    async with connection.transaction():
        await connection.execute("LOCK TABLE door IN ACCESS EXCLUSIVE MODE")
        claiming = asyncio.ensure_future(claim(ledger, now=later(hours(1))))
        await somebody_waits(connection)
        claiming.cancel()
        with pytest.raises(asyncio.CancelledError):
            await claiming
    await ledger.webhook_uptime.tick(a_tick())
    assert await status(ledger, message.id) is Status.QUEUED
    assert [claimed.id for claimed in await claim(ledger, now=later(hours(1)))] == [message.id]


async def test_a_message_cancelled_on_its_way_to_ready_is_not_left_there(
    ledger: SqlLedger, connection: asyncpg.Connection[asyncpg.Record]
) -> None:
    message = await submit(ledger, scheduled_at=later(hours(1)))
    async with connection.transaction():  # the claim's step for messages that became due
        await connection.execute("SELECT FROM later WHERE message_id = $1 FOR UPDATE", message.id)
        await connection.execute("DELETE FROM later WHERE message_id = $1", message.id)
        await connection.execute("INSERT INTO ready VALUES ($1, '1', 0, 0)", message.id)
        cancelling = asyncio.ensure_future(ledger.outbox.cancel(ORG, message.id, T0))
        await somebody_waits(connection)
    assert isinstance(await cancelling, MessageChanged)
    assert await connection.fetchval("SELECT count(*) FROM ready") == 0
    assert await connection.fetchval("SELECT count(*) FROM later") == 0


async def test_a_claim_skips_what_somebody_has_in_hand(
    ledger: SqlLedger, connection: asyncpg.Connection[asyncpg.Record]
) -> None:
    held, free = await submit(ledger), await submit(ledger)
    async with connection.transaction():
        await connection.execute("SELECT FROM delivery WHERE message_id = $1 FOR UPDATE", held.id)
        assert [c.id for c in await claim(ledger)] == [free.id]
    assert [c.id for c in await claim(ledger)] == [held.id]


async def test_who_wants_what_stays_locked_is_told_busy_and_its_neighbours_are_served(
    url: str, connection: asyncpg.Connection[asyncpg.Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(access.WRITER_SETTINGS, "lock_timeout", "50")
    ledger = SqlLedger(await PostgresEngine.open(url), FAST_PATHS)
    message = await submit(ledger)
    async with connection.transaction():
        await connection.execute("SELECT FROM delivery WHERE message_id = $1 FOR UPDATE", message.id)
        answers = await asyncio.gather(
            submit(ledger),
            ledger.outbox.cancel(ORG, message.id, T0),
            submit(ledger),
            submit(ledger),
            return_exceptions=True,
        )
    assert [type(answer).__name__ for answer in answers] == ["Message", "Busy", "Message", "Message"]
    assert isinstance(answers[1], Busy)
    assert isinstance(await ledger.outbox.cancel(ORG, message.id, T0), MessageChanged)
    await ledger.close()


async def test_a_lost_connection_is_opened_again(
    ledger: SqlLedger, connection: asyncpg.Connection[asyncpg.Record]
) -> None:
    await submit(ledger)
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'waypost%'"
    await connection.fetch(end)
    stored = 0
    async with asyncio.timeout(PATIENCE):
        while stored < 3:
            try:
                await submit(ledger)
                stored += 1
            except Unavailable:
                continue
    assert len(await claim(ledger)) == 4


async def test_a_connection_lost_while_writing_fails_everybody_in_the_batch_as_unavailable(
    ledger: SqlLedger, connection: asyncpg.Connection[asyncpg.Record]
) -> None:
    message = await submit(ledger)
    async with connection.transaction():
        await connection.execute("SELECT FROM delivery WHERE message_id = $1 FOR UPDATE", message.id)
        first = asyncio.ensure_future(ledger.outbox.cancel(ORG, message.id, T0))
        await somebody_waits(connection)
        await connection.fetch("SELECT pg_terminate_backend($1)", await connection.fetchval(WAITING))
        with pytest.raises(Unavailable):
            await first
    assert isinstance(await ledger.outbox.cancel(ORG, message.id, T0), MessageChanged)


async def test_a_database_that_is_not_there_is_unavailable(free_tcp_port: int) -> None:
    with pytest.raises(Unavailable):
        await PostgresEngine.open(f"postgresql://postgres@127.0.0.1:{free_tcp_port}/nowhere")


async def test_an_old_schema_is_refused_in_one_line(postgres_url: str) -> None:
    with pytest.raises(WrongSchema, match=r"^the database has schema 0, this Waypost needs \d+: run `waypost migrate`"):
        await PostgresEngine.open(postgres_url)


async def test_a_schema_from_the_future_is_refused(url: str, connection: asyncpg.Connection[asyncpg.Record]) -> None:
    running = await PostgresEngine.open(url)
    await connection.execute("UPDATE waypost_schema SET version = 999")
    await running.ping()  # running work continues until it is renewed
    await running.close()
    with pytest.raises(WrongSchema, match="run a newer Waypost"):
        await PostgresEngine.open(url)
    with pytest.raises(WrongSchema, match="run a newer Waypost"):
        await migrate(url)


async def test_migrations_run_once_though_several_try(postgres_url: str) -> None:
    applied = await asyncio.gather(*(migrate(postgres_url) for _ in range(3)))
    assert sorted(map(len, applied))[:2] == [0, 0]
    assert "foundation" in {name for names in applied for name in names}
    assert await migrate(postgres_url) == []


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    with or_skip(Postgres({"max_connections": "20"})) as server:
        yield server


async def test_what_was_acknowledged_outlives_a_crash_of_the_server(own_postgres: Postgres) -> None:
    url = own_postgres.url
    await migrate(url)
    ledger = SqlLedger(await PostgresEngine.open(url), FAST_PATHS)
    before = [await submit(ledger) for _ in range(5)]
    await asyncio.to_thread(own_postgres.stop, "immediate")
    with pytest.raises(Unavailable):
        await ledger.outbox.submit(a_draft(), T0)
    with pytest.raises(Unavailable):
        await claim(ledger)
    with pytest.raises(Unavailable):
        await ledger.lookup.delivery(before[0].id)
    with pytest.raises(Unavailable):
        await ledger.ping()
    await asyncio.to_thread(own_postgres.start)
    await ledger.ping()
    assert [c.id for c in await claim(ledger)] == [message.id for message in before]
    await ledger.close()


async def test_a_database_that_takes_no_writes_is_away_and_no_intent_is_blamed(
    url: str, connection: asyncpg.Connection[asyncpg.Record]
) -> None:
    """As a primary that became a standby: callers must retry, and the engine looks for the new primary."""
    database = f'ALTER DATABASE "{url.rpartition("/")[2]}"'
    await connection.execute(f"{database} SET default_transaction_read_only = on")
    ledger = SqlLedger(await PostgresEngine.open(url), FAST_PATHS)
    try:
        with pytest.raises(Unavailable, match="takes no writes"):
            await ledger.outbox.submit(a_draft(), T0)
        await connection.execute(f"{database} RESET default_transaction_read_only")  # for connections made from now on
        assert (await submit(ledger)).id
    finally:
        await ledger.close()


async def test_to_read_the_time_is_one_round_trip(url: str) -> None:
    """The caller takes the time between request and answer for the uncertainty of the answer."""
    engine = await PostgresEngine.open(url)
    engine._look_at = 0.0  # a look at the other connections is due
    await engine.time()
    after_time = engine._look_at
    await engine.read("ledger_time")
    after_read = engine._look_at
    await engine.close()
    assert after_time == 0.0
    assert after_read > 0.0

"""A database of the first schema, with messages in every state, is migrated and continues to send them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from waypost.adapters.postgres.engine import PostgresEngine
from waypost.adapters.postgres.fast_paths import FAST_PATHS
from waypost.adapters.postgres.schema import migrate
from waypost.adapters.sql.engine.migrations import migrations
from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import ThreadedEngine
from waypost.adapters.sqlite.store import SqliteStore
from waypost.model.ids import Fence, MessageId, Wamid, WorkerId
from waypost.model.message import Status
from waypost.model.time import minutes
from waypost.model.webhook import Echo
from waypost.ports.accounts.accounts import NumberChange
from waypost.ports.sending.outbox import MessageChanged
from waypost.rules.limits.gates import NUMBER_DISABLED
from waypost_testing.clock import ManualClock
from waypost_testing.contracts.examples import (
    CUSTOMER,
    NUMBER,
    ORG,
    OTHER_NUMBER,
    PATIENCE,
    T0,
    a_report,
    accept,
    attempts,
    claim,
    claim_one,
    drain,
    later,
    status,
    submit,
    take,
)
from waypost_testing.contracts.limits.gates import closed_names
from waypost_testing.services.processes import Postgres

READY, TEMPLATE, LATER, HEAD, IN_LINE, UNDER_WAY, SENT, DELIVERED, FAILED, CANCELLED, DISABLED, PARKED = (
    MessageId(n) for n in range(1, 13)
)

MESSAGES = {
    READY: "QUEUED",
    TEMPLATE: "QUEUED",
    LATER: "QUEUED",
    HEAD: "QUEUED",
    IN_LINE: "QUEUED",
    UNDER_WAY: "SENDING",
    SENT: "SENT",
    DELIVERED: "DELIVERED",
    FAILED: "FAILED",
    CANCELLED: "CANCELLED",
    DISABLED: "QUEUED",
    PARKED: "SENDING",
}
RANK = T0 - 5 * minutes(1)
SQLITE, POSTGRES = migrations("waypost.adapters.sqlite"), migrations("waypost.adapters.postgres")
TRIED = [UNDER_WAY, SENT, DELIVERED, FAILED, PARKED]


def quoted(value: object) -> str:
    return "NULL" if value is None else f"'{value}'"


def message_rows(message: MessageId, state: str, blob: str) -> list[str]:
    """One message as the first schema stored it."""
    sender = OTHER_NUMBER if message == DISABLED else NUMBER
    template = "hello" if message == TEMPLATE else None
    queue = 1 if message in (HEAD, IN_LINE) else None
    wamid = f"wamid-{message}" if state in ("SENT", "DELIVERED") else None
    fence = int(message in TRIED)
    return [
        f"""INSERT INTO message (org_id, sender, channel, recipient, template, payload, idempotency_key, digest,
            priority, ordered, max_attempts, queue_id, created_at)
        VALUES ('{ORG}', '{sender}', 'WHATSAPP', '{CUSTOMER}', {quoted(template)}, '{{}}', 'key-{message}', {blob}, 5,
            {queue is not None}, 5, {queue or "NULL"}, {T0})""",
        f"""INSERT INTO delivery (message_id, org_id, sender, priority, max_attempts, queue_id, status, generation,
            fence, first_fence, tries, due_at, owner, open_at_claim, parked, provider_id, updated_at, claimed_at)
        VALUES ({message}, '{ORG}', '{sender}', 5, 5, {queue or "NULL"}, '{state}', 1, {fence}, 0, {fence},
            {T0 if state == "QUEUED" else "NULL"}, {quoted("worker-1" if message == UNDER_WAY else None)}, 0,
            {message == PARKED}, {quoted(wamid)}, {T0}, {T0 if fence else "NULL"})""",
        *([f"INSERT INTO wamid VALUES ('{NUMBER}', '{wamid}', {message}, 1)"] if wamid else []),
    ]


def first_rows(blob: str) -> list[str]:
    """The rows of a database from before dispatch groups, permits and gates."""
    number = "waba_id, sealed_token, sealed_app_secret, sealed_verify_token, error_catalogue"
    return [
        f"INSERT INTO org VALUES ('{ORG}', {T0})",
        *(
            f"INSERT INTO number (id, org_id, {number}, enabled, created_at, updated_at) "
            f"VALUES ('{name}', '{ORG}', '3', {blob}, {blob}, {blob}, 'meta', {enabled}, {T0}, {T0})"
            for name, enabled in ((NUMBER, True), (OTHER_NUMBER, False))
        ),
        *(row for message, state in MESSAGES.items() for row in message_rows(message, state, blob)),
        f"INSERT INTO queue (org_id, sender, recipient, head, tail) VALUES ('{ORG}', '{NUMBER}', '{CUSTOMER}', 4, 1)",
        f"INSERT INTO queue_line VALUES (1, 1, {IN_LINE}, 0, {RANK})",
        *(
            f"INSERT INTO ready VALUES ({message}, '{sender}', {RANK}, {T0})"
            for message, sender in ((READY, NUMBER), (TEMPLATE, NUMBER), (HEAD, NUMBER), (DISABLED, OTHER_NUMBER))
        ),
        f"INSERT INTO later VALUES ({LATER}, '{NUMBER}', {RANK}, {later(minutes(10))})",
    ]


def first_sqlite(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(SQLITE[0].text)
    for row in first_rows("X'78'"):
        connection.execute(row)
    connection.execute("PRAGMA user_version = 1")
    connection.close()


async def first_postgres(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(POSTGRES[0].text)
    await connection.execute(";".join(first_rows("'x'")))
    await connection.execute("CREATE TABLE waypost_schema (version integer NOT NULL)")
    await connection.execute("INSERT INTO waypost_schema VALUES (1)")
    await connection.close()


def newest_sqlite(path: Path) -> ThreadedEngine:
    first_sqlite(path)
    store = SqliteStore(path)
    assert (store.migrate(), store.migrate()) == ([migration.name for migration in SQLITE[1:]], [])
    store.close()
    return ThreadedEngine(path, ManualClock().now)


async def newest_postgres(url: str) -> PostgresEngine:
    await first_postgres(url)
    assert (await migrate(url), await migrate(url)) == ([migration.name for migration in POSTGRES[1:]], [])
    return await PostgresEngine.open(url)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    """Where the database is: a path of SQLite, an address of PostgreSQL."""
    if request.param == "sqlite":
        yield tmp_path / "waypost.db"
        return
    server: Postgres = request.getfixturevalue("postgres")
    url = server.create_database()
    yield url
    server.drop_database(url)


@pytest.fixture
async def ledger(place: Path | str) -> AsyncIterator[SqlLedger]:
    """A present-day Ledger on an old database."""
    if isinstance(place, Path):
        ledger = SqlLedger(await asyncio.to_thread(newest_sqlite, place))
    else:
        ledger = SqlLedger(await newest_postgres(place), FAST_PATHS)
    yield ledger
    await ledger.close()


async def test_every_message_stands_where_it_stood(ledger: SqlLedger) -> None:
    assert {message: (await status(ledger, message)).value for message in MESSAGES} == MESSAGES


async def test_what_waited_is_sent_in_its_order(ledger: SqlLedger) -> None:
    assert await drain(ledger) == [READY, TEMPLATE, HEAD, IN_LINE]
    assert await drain(ledger, later(minutes(10))) == [LATER]


async def test_what_was_under_way_is_settled_by_its_status(ledger: SqlLedger) -> None:
    await take(ledger, a_report("delivered", Wamid("wamid-6"), echo=Echo(UNDER_WAY, Fence(1))))
    await take(ledger, a_report("read", Wamid("wamid-7")))
    assert [await status(ledger, message) for message in (UNDER_WAY, SENT)] == [Status.DELIVERED] * 2


async def test_what_was_under_way_may_be_given_up_and_sent_again(ledger: SqlLedger) -> None:
    await drain(ledger)
    assert (await ledger.outbox.sweep(PATIENCE, 10, T0)).requeued == []
    assert await ledger.outbox.hand_back(await owner_of(ledger), [], T0) == [UNDER_WAY]
    again = await claim_one(ledger)
    assert (again.id, again.fence) == (UNDER_WAY, 2)
    await accept(ledger, again)
    assert [attempt.fence for attempt in await attempts(ledger, UNDER_WAY)] == [1, 2]


async def owner_of(ledger: SqlLedger) -> WorkerId:
    found = await ledger.lookup.delivery(UNDER_WAY)
    assert found is not None
    assert found.owner is not None
    return found.owner


@pytest.mark.parametrize("message", [FAILED, CANCELLED, PARKED])
async def test_what_had_ended_may_be_sent_anew(message: MessageId, ledger: SqlLedger) -> None:
    await drain(ledger)
    assert isinstance(await ledger.outbox.retry(ORG, message, T0), MessageChanged)
    assert (await claim_one(ledger)).id == message


async def test_a_disabled_number_is_still_disabled_until_it_is_enabled(ledger: SqlLedger) -> None:
    await drain(ledger)
    assert await closed_names(ledger) == [(f"number:{OTHER_NUMBER}", NUMBER_DISABLED)]
    await ledger.accounts.change_number(ORG, OTHER_NUMBER, NumberChange(enabled=True), T0)
    assert (await claim_one(ledger)).id == DISABLED


async def test_new_messages_join_the_old_ones(ledger: SqlLedger) -> None:
    wanted: list[dict[str, Any]] = [{}, {"template": "hello"}, {"template": "new"}]
    new = [await submit(ledger, key=f"new-{n}", **fields) for n, fields in enumerate(wanted)]
    assert [claimed.id for claimed in await claim(ledger)] == [READY, TEMPLATE, HEAD, *(each.id for each in new)]


async def test_an_org_has_the_usual_quota_and_a_number_the_usual_pace(ledger: SqlLedger) -> None:
    assert (await ledger.quotas.get(ORG)).most == 1000
    assert {number.pace for number in await ledger.accounts.numbers()} == {80}
    await claim(ledger, slots=1)
    assert (await ledger.quotas.get(ORG)).used == 1

"""A keyspace is the history store of one Ledger: claimed once, by the first, and closed to every other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import acsylla
import pytest

from tests.conformance.cassandra.test_cassandra_schema import Relay, available
from tests.started import WORKER
from waypost.adapters.cassandra import address, keyspace, owner, schema
from waypost.adapters.cassandra.address import CassandraAddress
from waypost.adapters.cassandra.history import CassandraHistory
from waypost.adapters.cassandra.keyspace import Keyspace
from waypost.adapters.local.clock import SystemClock
from waypost.adapters.postgres import schema as postgres_schema
from waypost.adapters.sql.engine.upkeep import RestoreOptions
from waypost.adapters.sqlite import backup
from waypost.flow.policy_cache import PolicyCache
from waypost.model.time import Instant
from waypost.ports.history.history import ArchivedStatus, History
from waypost.ports.ledger import Ledger
from waypost.ports.platform.failure import ForeignHistory, LedgerError
from waypost.runtime.cli.admin.copying import copy
from waypost.runtime.doctor import history
from waypost.runtime.doctor.findings import DoctorFinding
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.wiring.history_store import open_history_store
from waypost.runtime.wiring.wiring import open_ledger
from waypost_testing.contracts.history.history import END, an_entry, lines, positions, spot
from waypost_testing.services.cassandra import Cassandra

NAME = f"waypost_owner_test{WORKER}"
GIVEN_AWAY = f"DELETE FROM {NAME}.waypost_owner WHERE part = 'log' IF EXISTS"
"""As docs/how-to/add-cassandra.md shows it."""
SECRET = "geheim"  # without an owner
pytestmark = pytest.mark.may_block("SQLite's schema is brought up to date without a thread")
Ask = Callable[[str], Awaitable[list[Any]]]
Open = Callable[[str], Awaitable[Ledger]]


@pytest.fixture(scope="module")
def migrated(cassandra: Cassandra) -> CassandraAddress:
    """Created once: a table takes longer than a test."""
    where = address.parse(cassandra.history_url(NAME))
    asyncio.run(keyspace.migrate(where))
    return where


@pytest.fixture
async def cql(migrated: CassandraAddress) -> AsyncIterator[Ask]:
    """Reads past the adapter; the keyspace has no owner, and its tables are empty."""
    session = await keyspace.opened(migrated, NAME)

    async def ask(text: str) -> list[Any]:
        found = await session.execute(acsylla.create_statement(text))
        return [row.as_tuple() for row in found.all()]

    await ask(GIVEN_AWAY)
    await asyncio.gather(*(ask(f"TRUNCATE {table}") for table in ("messages", "buckets")))
    yield ask
    await session.close()


@pytest.fixture
def url(cassandra: Cassandra, cql: Ask) -> str:
    return cassandra.history_url(NAME).replace("://", f"://me:{SECRET}@")  # without authentication it lets everyone in


@pytest.fixture
async def ledger_of(tmp_path: Path) -> AsyncIterator[Open]:
    """A process of the installation with this name."""
    async with AsyncExitStack() as stack:

        async def opened(name: str) -> Ledger:
            file = tmp_path / name / "waypost.db"
            ledger = await open_ledger(Settings(database_url=f"sqlite:///{file}"), SystemClock())
            stack.push_async_callback(ledger.close)
            return ledger

        yield opened


async def everything(cql: Ask) -> list[Any]:
    tables = ("messages", "buckets", "waypost_owner", "waypost_schema")
    return [await cql(f"SELECT * FROM {table}") for table in tables]


async def test_two_databases_that_name_one_keyspace_do_not_read_each_others_messages(
    url: str, cql: Ask, ledger_of: Open
) -> None:
    """Both have a conversation with this number: they count from 1."""
    ours = await open_history_store(url, await ledger_of("ours"))
    await ours.append(lines(an_entry(1, body='{"text":"between us"}')))
    before = await everything(cql)
    with pytest.raises(
        ForeignHistory, match=rf"the keyspace {NAME} .*: set WAYPOST_HISTORY_URL to another keyspace"
    ) as told:
        await open_history_store(url, await ledger_of("theirs"))
    ((name,),) = await cql("SELECT ledger FROM waypost_owner")
    assert SECRET not in str(told.value)
    assert name not in str(told.value)
    assert await everything(cql) == before
    assert await positions(ours) == [1]
    await ours.close()


async def test_a_command_claims_nothing_and_reads_no_others(url: str, cql: Ask, ledger_of: Open) -> None:
    """The command may have been run in the wrong folder, where it created its own database."""
    stray = await ledger_of("theirs")
    await (await open_history_store(url, stray, claims=False)).close()
    assert (await cql("SELECT ledger FROM waypost_owner"), await stray.operator_reads.identity()) == ([], None)
    await (await open_history_store(url, await ledger_of("ours"))).close()
    with pytest.raises(ForeignHistory, match="how to transfer the keyspace"):
        await open_history_store(url, stray, claims=False)


async def test_the_same_database_comes_back_and_with_many_processes(url: str, cql: Ask, ledger_of: Open) -> None:
    logs = [await open_history_store(url, await ledger_of("ours")) for _ in range(3)]
    for number, log in enumerate(logs, 1):
        await log.append(lines(an_entry(number)))
    assert await positions(logs[0]) == [3, 2, 1]
    assert await cql("SELECT ledger FROM waypost_owner") == [
        (await (await ledger_of("ours")).operator_reads.identity(),)
    ]
    for log in logs:
        await log.close()


async def test_a_keyspace_from_before_there_were_owners_is_the_first_ones(url: str, cql: Ask, ledger_of: Open) -> None:
    early = CassandraHistory(Keyspace(address.parse(url), "early"))
    await early.append(lines(an_entry(1)))
    await early.close()
    await cql("DROP TABLE waypost_owner")
    await cql("INSERT INTO waypost_schema (part, version) VALUES ('log', 1)")
    with pytest.raises(schema.WrongHistorySchema, match="waypost migrate"):
        await open_history_store(url, await ledger_of("ours"))
    assert await keyspace.migrate(address.parse(url)) == ["owner"]
    log = await open_history_store(url, await ledger_of("ours"))
    assert await positions(log) == [1]
    await log.close()
    with pytest.raises(ForeignHistory):
        await open_history_store(url, await ledger_of("theirs"))


async def test_of_many_that_come_at_once_exactly_one_has_it(
    url: str, cql: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_owner(*_: object) -> str:
        return ""

    monkeypatch.setattr(owner, "read_owner", no_owner)  # each has looked before any other claimed it
    rivals = {name: Keyspace(address.parse(url), name) for name in (f"ledger {n}" for n in range(8))}
    outcomes = await asyncio.gather(*(rival.connect() for rival in rivals.values()), return_exceptions=True)
    for rival in rivals.values():
        await rival.close()
    won = [name for name, outcome in zip(rivals, outcomes, strict=True) if outcome is None]
    assert await cql("SELECT ledger FROM waypost_owner") == [(name,) for name in won]
    assert [type(outcome) for outcome in outcomes if outcome is not None] == [ForeignHistory] * 7


async def test_one_whose_claim_was_not_answered_finds_that_it_has_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_owner(*_: object) -> str:
        return ""

    monkeypatch.setattr(owner, "read_owner", no_owner)
    for _ in range(2):
        ours = Keyspace(address.parse(url), "ours")
        await ours.connect()
        await ours.close()


@pytest.fixture
async def relay(cassandra: Cassandra) -> AsyncIterator[Relay]:
    relay = Relay(cassandra.port)
    await relay.open()
    yield relay
    await relay.cut()


async def theirs_at(url: str) -> CassandraHistory:
    """A keyspace of another owner, with data."""
    theirs = CassandraHistory(Keyspace(address.parse(url), "theirs"))
    await theirs.append(lines(an_entry(1)))
    return theirs


def asked_of(log: History) -> list[Awaitable[object]]:
    """Everything possible."""
    mark = ArchivedStatus(archive_key=spot(1), status="sent", generation=1, rank=3)
    return [
        log.append(lines(an_entry(2))),
        log.page(END, 9),
        log.some([spot(1)]),
        log.erase([spot(1)], Instant(1)),
        log.settle([mark]),
        log.ping(),
    ]


async def test_one_that_is_away_at_the_start_and_then_turns_out_to_be_anothers_is_left_alone(
    url: str, cql: Ask, relay: Relay, ledger_of: Open
) -> None:
    await (await theirs_at(url)).close()
    before = await everything(cql)
    await relay.cut()
    log = await open_history_store(
        url.replace(f":{address.parse(url).port}/", f":{relay.port}/"), await ledger_of("ours")
    )
    await relay.open()
    with pytest.raises(ForeignHistory):
        await available(log)  # type: ignore[arg-type]  # what is opened is one on Cassandra
    for ask in asked_of(log):
        with pytest.raises(ForeignHistory):
            await ask
    assert await everything(cql) == before
    await log.close()


async def test_one_that_was_made_again_by_another_is_left_alone_from_the_next_look_on(
    url: str, cql: Ask, ledger_of: Open
) -> None:
    log = await open_history_store(url, await ledger_of("ours"))
    await log.ping()
    await cql(GIVEN_AWAY)
    await (await theirs_at(url)).close()
    before = await everything(cql)
    with pytest.raises(ForeignHistory):
        await log.ping()
    for ask in asked_of(log):
        with pytest.raises(ForeignHistory):
            await ask
    assert await everything(cql) == before
    await log.close()


async def test_an_operator_may_give_a_keyspace_away(url: str, cql: Ask, ledger_of: Open) -> None:
    await (await theirs_at(url)).close()
    await cql(GIVEN_AWAY)
    log = await open_history_store(url, await ledger_of("ours"))
    assert await positions(log) == [1]
    await log.close()


async def examined(url: str, ledger: Ledger) -> list[DoctorFinding]:
    log = await open_history_store(url, ledger, to_look=True)
    clock = SystemClock()
    policies = PolicyCache(ledger.policies, clock, Settings().tuning().defaults)
    try:
        return list(await history.of_bodies(ledger, log, policies, clock.now()))
    finally:
        await log.close()


async def test_the_doctor_says_whose_it_is_not_and_claims_nothing(url: str, cql: Ask, ledger_of: Open) -> None:
    ledger = await ledger_of("ours")
    assert await examined(url, ledger) == []
    assert (await cql("SELECT * FROM waypost_owner"), await ledger.operator_reads.identity()) == ([], None)
    await (await theirs_at(url)).close()
    for _ in ("not named yet", "named"):
        (found,) = await examined(url, ledger)
        assert (found.level, NAME in found.text, "WAYPOST_HISTORY_URL" in found.remedy) == ("wrong", True, True)
        assert SECRET not in found.text + found.remedy
        await ledger.operator_reads.identify("ours")


async def test_a_backup_and_a_copy_are_the_same_ledger_as_their_source(
    tmp_path: Path, ledger_of: Open, postgres_url: str
) -> None:
    """For an archived message they hold only its key in the keyspace, so they need access to it."""
    source = await ledger_of("ours")
    name = await source.operator_reads.identify("the first")
    await source.close()
    file, copied = tmp_path / "ours" / "waypost.db", tmp_path / "backup.db"
    await asyncio.to_thread(backup.back_up, file, copied)
    restoring = RestoreOptions(now=Instant(1), token="abcd", ids=1000, hold=True)  # of an epoch
    await asyncio.to_thread(backup.restore, copied, restoring)
    await postgres_schema.migrate(postgres_url)
    await copy(Settings(database_url=f"sqlite:///{file}"), postgres_url, batch=10, anew=False)
    for url in (f"sqlite:///{copied}", postgres_url):
        ledger = await open_ledger(Settings(database_url=url), SystemClock())
        assert await ledger.operator_reads.identify("another") == name == "the first"
        await ledger.close()
    with pytest.raises(LedgerError, match="was copied to another"):
        await ledger_of("ours")

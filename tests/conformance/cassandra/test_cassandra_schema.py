"""The history keyspace: created by `waypost migrate`, refused when its schema does not match the code."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import acsylla
import pytest
from msgspec.structs import replace

from tests.started import WORKER
from waypost.adapters.cassandra import address, keyspace, schema
from waypost.adapters.cassandra.history import CassandraHistory
from waypost.adapters.cassandra.keyspace import Keyspace
from waypost.adapters.cassandra.schema import WrongHistorySchema
from waypost.adapters.local.clock import SystemClock
from waypost.ports.ledger import Ledger
from waypost.ports.platform.failure import Unavailable
from waypost.runtime.doctor import history
from waypost.runtime.settings.definitions import Settings, SettingsError
from waypost.runtime.wiring.history_store import open_history_store
from waypost.runtime.wiring.wiring import migrate, open_ledger
from waypost_testing.contracts.history.history import END, an_entry, lines, positions
from waypost_testing.services.cassandra import Cassandra

NAME = f"waypost_schema_test{WORKER}"
ON_THE_WAY = "SQLite's schema is brought up to date without a thread"
Ask = Callable[[str], Awaitable[list[Any]]]


@pytest.fixture
async def cql(cassandra: Cassandra) -> AsyncIterator[Ask]:
    """Without a keyspace; the one of these tests is removed afterwards."""
    session = await keyspace.opened(address.parse(cassandra.history_url(NAME)), None)

    async def ask(text: str) -> list[Any]:
        found = await session.execute(acsylla.create_statement(text))
        return [row.as_tuple() for row in found.all()]

    yield ask
    await ask(f"DROP KEYSPACE IF EXISTS {NAME}")
    await session.close()


@pytest.fixture
def url(cassandra: Cassandra, cql: Ask) -> str:
    return cassandra.history_url(NAME)


@pytest.fixture
async def ledger(sqlite_url: str) -> AsyncIterator[Ledger]:
    ledger = await open_ledger(Settings(database_url=sqlite_url), SystemClock())
    yield ledger
    await ledger.close()


async def wrong(url: str) -> list[str]:
    return [text for good, text, remedy in await history.findings(url) if good is False]


@pytest.mark.may_block(ON_THE_WAY)
async def test_a_keyspace_is_refused_until_waypost_migrate_has_made_it(
    url: str, cql: Ask, ledger: Ledger, sqlite_url: str
) -> None:
    for there in ("no keyspace", "schema 0"):
        with pytest.raises(WrongHistorySchema, match=f"{there}.*waypost migrate"):
            await open_history_store(url, ledger)
        assert there in (await wrong(url))[0]
        await cql(f"CREATE KEYSPACE IF NOT EXISTS {NAME} WITH replication = {replicated(1)}")
    settings = Settings(database_url=sqlite_url, history_url=url)
    assert (await migrate(settings))[-2:] == ["log", "owner"]
    assert await migrate(settings) == []
    log = await open_history_store(url, ledger)
    await log.append(lines(an_entry(1)))
    assert await positions(log) == [1]
    await log.ping()
    await cql(f"INSERT INTO {NAME}.waypost_schema (part, version) VALUES ('log', 99)")
    with pytest.raises(WrongHistorySchema, match=r"schema 99.*newer Waypost"):
        await log.ping()
    with pytest.raises(WrongHistorySchema, match=r"schema 99.*newer Waypost"):
        await migrate(settings)
    await log.close()


def replicated(count: int) -> str:
    return f"{{'class': 'NetworkTopologyStrategy', 'replication_factor': {count}}}"


async def test_more_copies_than_nodes_are_refused_before_anything_is_made(cassandra: Cassandra, cql: Ask) -> None:
    for copies in ("3", "datacenter1:3"):
        with pytest.raises(WrongHistorySchema, match="replication=1"):
            await keyspace.migrate(address.parse(cassandra.history_url(NAME, replication=copies)))
    assert await cql(f"SELECT * FROM system_schema.keyspaces WHERE keyspace_name = '{NAME}'") == []


async def test_copies_may_be_named_by_data_centre(cassandra: Cassandra, cql: Ask) -> None:
    where = address.parse(cassandra.history_url(NAME, replication="datacenter1:1", dc="datacenter1"))
    assert await keyspace.migrate(where) == ["log", "owner"]
    ((found,),) = await cql(f"SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = '{NAME}'")
    assert dict(found)["datacenter1"] == "1"


async def test_the_doctor_finds_what_does_not_fit_together(url: str, cql: Ask) -> None:
    await keyspace.migrate(address.parse(url))
    told = await history.findings(url)
    assert [text for good, text, _ in told if good is False] == []
    assert ["the only copy" in text for good, text, _ in told if good is None] == [True]
    assert any("Cassandra 5.0" in text for _, text, _ in told)
    assert any("commitlog_sync batch" in text for _, text, _ in told)
    await cql(f"ALTER KEYSPACE {NAME} WITH replication = {{'class': 'NetworkTopologyStrategy', 'datacenter1': 2}}")
    (few,) = await wrong(url)
    assert "2 copies in datacenter1" in few
    assert "there are 1 nodes" in few
    (unlike,) = [text for good, text, _ in await history.findings(url) if good is None]
    assert "says 1 copies in datacenter1" in unlike


async def test_the_doctor_finds_nobody() -> None:
    ((good, text, remedy),) = await history.findings("cassandra://user:geheim@127.0.0.1:1/waypost")
    assert (good, "cannot be reached" in text) == (False, True)
    assert "geheim" not in text + remedy


class Relay:
    """A connection to the node that a test can cut or silence."""

    def __init__(self, to: int) -> None:
        self._to = to
        self._server: asyncio.Server | None = None
        self._ways: set[asyncio.Task[None]] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.port = 0

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        near, far = await asyncio.open_connection("127.0.0.1", self._to)
        for source, sink in ((reader, far), (near, writer)):
            way = asyncio.create_task(self._carry(source, sink))
            self._ways.add(way)
            way.add_done_callback(self._ways.discard)

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while said := await source.read(65_536):
                await self._flowing.wait()
                sink.write(said)
        finally:
            sink.transport.abort()

    def silence(self) -> None:
        self._flowing.clear()

    def flow(self) -> None:
        self._flowing.set()

    async def cut(self) -> None:
        assert self._server is not None
        self._server.close()
        ways = list(self._ways)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


@pytest.fixture
async def relay(cassandra: Cassandra) -> AsyncIterator[Relay]:
    relay = Relay(cassandra.port)
    await relay.open()
    yield relay
    await relay.cut()


async def available(log: CassandraHistory) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                return await log.ping()
            except Unavailable:
                await asyncio.sleep(0)


async def test_a_line_that_is_cut_or_silent_is_unavailable_and_comes_back_by_itself(url: str, relay: Relay) -> None:
    where = address.parse(url)
    await keyspace.migrate(where)
    log = CassandraHistory(Keyspace(replace(where, port=relay.port, timeout=0.5), "of these tests"))
    await log.append(lines(an_entry(1)))
    relay.silence()
    with pytest.raises(Unavailable):
        await log.append(lines(*(an_entry(n) for n in range(1, 50))))
    relay.flow()
    await available(log)
    await relay.cut()
    with pytest.raises(Unavailable):
        await log.page(END, 9)
    await relay.open()
    await available(log)
    await log.append(lines(*(an_entry(n) for n in range(1, 50))))
    assert len(await positions(log)) == 49
    await log.close()


@pytest.mark.may_block(ON_THE_WAY)
async def test_a_log_that_is_away_at_the_start_is_there_when_it_comes(url: str, relay: Relay, ledger: Ledger) -> None:
    await keyspace.migrate(address.parse(url))
    await relay.cut()
    log = await open_history_store(url.replace(f":{address.parse(url).port}/", f":{relay.port}/"), ledger)
    with pytest.raises(Unavailable):
        await log.append(lines(an_entry(1)))
    await relay.open()
    assert isinstance(log, CassandraHistory)
    await available(log)
    await log.append(lines(an_entry(1)))
    assert await positions(log) == [1]
    await log.close()


@pytest.mark.may_block(ON_THE_WAY)
async def test_an_address_that_is_none_is_refused_without_its_password(ledger: Ledger) -> None:
    with pytest.raises(SettingsError, match="WAYPOST_HISTORY_URL") as refused:
        await open_history_store("cassandra://user:geheim@/waypost?consistency=SOME", ledger)
    assert "geheim" not in str(refused.value)


def test_migrations_are_numbered_and_may_run_again() -> None:
    (first, *_) = schema.migrations()
    assert (first.version, first.name) == (1, "log")
    assert all("IF NOT EXISTS" in statement for each in schema.migrations() for statement in each.statements)

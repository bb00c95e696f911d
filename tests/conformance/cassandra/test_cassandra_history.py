"""The history store on Cassandra: its contract, and a test for each rule of writing and reading."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import acsylla
import pytest
from msgspec.structs import replace

from tests.started import WORKER
from waypost.adapters.cassandra import address, keyspace, message_keys
from waypost.adapters.cassandra.address import CassandraAddress
from waypost.adapters.cassandra.history import GUARD, CassandraHistory, system_now
from waypost.adapters.cassandra.keyspace import CassandraRow, Keyspace
from waypost.model.conversation import ArchiveKey, Entry, Position
from waypost.model.time import Instant, Span, days, seconds
from waypost.ports.history.history import ArchivedStatus, ArchiveEntry
from waypost.ports.platform.failure import Rejected, Unavailable
from waypost_testing.contracts.examples import T0
from waypost_testing.contracts.history.history import (
    END,
    HERE,
    THERE,
    HistoryContract,
    an_entry,
    lines,
    positions,
    spot,
)
from waypost_testing.services.cassandra import Cassandra

Ask = Callable[[str], Awaitable[list[Any]]]
LATER = Instant(T0 + 1000)
LEDGER = "of these tests"


class Watched(Keyspace):
    """Records the queries to the keyspace, and fails those that a test chooses."""

    def __init__(self, where: CassandraAddress) -> None:
        super().__init__(where, LEDGER)
        self.asked: list[str] = []
        self.done: list[str] = []
        self.refused = ""

    async def write(self, statement: str, arguments: Sequence[object]) -> None:
        self.asked.append(statement)
        if statement == self.refused:
            raise Unavailable("a test says so")
        await super().write(statement, arguments)
        self.done.append(statement)

    async def read(self, statement: str, arguments: Sequence[object], most: int = 1000) -> list[CassandraRow]:
        self.asked.append(statement)
        return await super().read(statement, arguments, most)


@pytest.fixture(scope="session")
def migrated(cassandra: Cassandra) -> CassandraAddress:
    """A keyspace with the history store's schema."""
    where = address.parse(cassandra.history_url(f"waypost{WORKER}"))
    asyncio.run(keyspace.migrate(where))
    return where


def asking(session: Any) -> Ask:
    async def ask(text: str) -> list[Any]:
        found = await session.execute(acsylla.create_statement(text))
        return [row.as_tuple() for row in found.all()]

    return ask


@pytest.fixture
async def watched(migrated: CassandraAddress) -> AsyncIterator[Watched]:
    """The keyspace, with nothing in its tables."""
    watched = Watched(migrated)
    await watched.connect()
    ask = asking(watched._session)
    await asyncio.gather(*(ask(f"TRUNCATE {table}") for table in ("messages", "buckets")))
    yield watched
    await watched.close()


@pytest.fixture
def cql(watched: Watched) -> Ask:
    """Reads past the adapter."""
    return asking(watched._session)


@pytest.fixture
def log(watched: Watched) -> CassandraHistory:
    return CassandraHistory(watched)


def soon(span: Span) -> Instant:
    return Instant(system_now() + span)


def a_mark(position: int, **fields: Any) -> ArchivedStatus:
    standard: dict[str, Any] = {"archive_key": spot(position), "status": "sent", "generation": 1, "rank": 3}
    return ArchivedStatus(**(standard | fields))


async def bodies(log: CassandraHistory) -> list[str]:
    return [entry.body for entry in await log.page(END, 1000)]


class TestCassandraLog(HistoryContract):
    pass


class TestErasing:
    async def test_an_append_that_comes_after_the_erasing_finds_it_erased(self, log: CassandraHistory) -> None:
        await log.erase([spot(1)], LATER)
        assert await positions(log) == []
        assert await log.some([spot(1)]) == []
        await log.append(lines(an_entry(1)))
        (entry,) = await log.page(END, 9)
        assert (entry.position, entry.type, entry.body, entry.deleted_at) == (1, "deleted", "{}", LATER)

    async def test_what_covers_a_message_that_never_comes_goes_by_itself(self, log: CassandraHistory, cql: Ask) -> None:
        await log.settle([a_mark(2)])
        await log.erase([spot(1), spot(2)], LATER)
        left = await cql("SELECT TTL(body) FROM messages")
        assert [0 < row[0] <= GUARD // 1_000_000 for row in left] == [True, True]

    async def test_one_that_was_erased_on_its_way_here_is_never_seen_otherwise(self, log: CassandraHistory) -> None:
        """A first append may have succeeded although its answer was lost."""
        await log.append(lines(an_entry(1)))
        await log.append(lines(an_entry(1, type="deleted", body="{}", deleted_at=LATER)))
        await log.append(lines(an_entry(1)))
        (entry,) = await log.page(END, 9)
        assert (entry.type, entry.body, entry.deleted_at) == ("deleted", "{}", LATER)

    async def test_it_is_written_later_than_any_append_whatever_the_clocks_say(
        self, log: CassandraHistory, cql: Ask
    ) -> None:
        await log.append(lines(an_entry(1)))
        await log.erase([spot(1)], Instant(T0 - days(1)))
        assert await cql("SELECT WRITETIME(position), WRITETIME(body) FROM messages") == [(T0 + 1, T0 + 2)]
        assert await bodies(log) == ["{}"]

    async def test_it_lives_as_long_as_what_it_covers(self, log: CassandraHistory, cql: Ask) -> None:
        await log.append([ArchiveEntry(entry=an_entry(1), expires_at=soon(days(1))), ArchiveEntry(entry=an_entry(2))])
        await log.erase([spot(1), spot(2)], LATER)
        (forever, day) = await cql(f"SELECT TTL(body) FROM messages WHERE {partition(spot(1))}")
        assert forever == (None,)
        assert 86_000 < day[0] <= 86_400

    async def test_one_whose_body_is_only_here_is_not_written_over(self, log: CassandraHistory) -> None:
        await log.append(lines(an_entry(1)))
        await log.append(lines(an_entry(1, body=""), an_entry(2, body="")))
        assert await bodies(log) == ['{"text":"1"}']


def partition(of: ArchiveKey) -> str:
    return f"conversation_id = {of.conversation_id} AND bucket = {message_keys.bucket_of(of.id_at)}"


class TestExpiring:
    async def test_what_has_expired_is_not_written(self, log: CassandraHistory, watched: Watched) -> None:
        past = soon(Span(-1))
        await log.append([ArchiveEntry(entry=an_entry(1), expires_at=past)])
        await log.settle([a_mark(1, expires_at=past)])
        assert watched.asked == []

    async def test_what_expires_is_gone_then(self, log: CassandraHistory) -> None:
        await log.append(
            [ArchiveEntry(entry=an_entry(1), expires_at=soon(seconds(1))), ArchiveEntry(entry=an_entry(2))]
        )
        await log.settle([a_mark(1, expires_at=soon(seconds(1)))])
        async with asyncio.timeout(20):
            while await positions(log) != [2]:
                pass

    async def test_a_status_lives_as_long_as_its_message(self, log: CassandraHistory, cql: Ask) -> None:
        at = soon(days(1))
        await log.append([ArchiveEntry(entry=an_entry(1), expires_at=at)])
        await log.settle([a_mark(1, expires_at=at)])
        ((body, status),) = await cql("SELECT TTL(body), TTL(status) FROM messages")
        assert 86_000 < status <= body <= 86_400

    async def test_what_expires_later_than_the_database_can_count_is_kept(
        self, log: CassandraHistory, cql: Ask
    ) -> None:
        await log.append([ArchiveEntry(entry=an_entry(1), expires_at=soon(days(15 * 365)))])
        assert await cql("SELECT TTL(body) FROM messages") == [(None,)]
        assert await cql("SELECT TTL(until) FROM buckets") == [(None,)]

    @pytest.mark.parametrize("turned", [False, True])
    async def test_a_bucket_is_listed_as_long_as_its_longest_message_whatever_came_last(
        self, turned: bool, log: CassandraHistory, watched: Watched, cql: Ask
    ) -> None:
        said = [ArchiveEntry(entry=an_entry(n), expires_at=soon(days(n))) for n in (1, 40, 400)]
        for line in said[::-1] if turned else said:
            await CassandraHistory(watched).append([line])  # each from another process
        ((left,),) = await cql("SELECT TTL(until) FROM buckets")
        assert 400 * 86_400 < left < 421 * 86_400
        await CassandraHistory(watched).append(lines(an_entry(5)))
        await CassandraHistory(watched).append(said)
        assert await cql("SELECT TTL(until) FROM buckets") == [(None,)]


class TestBuckets:
    async def test_each_is_listed_before_its_first_message(self, log: CassandraHistory, watched: Watched) -> None:
        said = [an_entry(n, id_at=Instant(T0 + days(9) * n)) for n in range(1, 9)]
        await log.append(lines(*said))
        assert watched.done == ["bucket_list"] * 8 + ["message_put"] * 8

    async def test_without_the_list_nothing_is_written(self, log: CassandraHistory, watched: Watched, cql: Ask) -> None:
        watched.refused = "bucket_list"
        with pytest.raises(Unavailable):
            await log.append(lines(an_entry(1), an_entry(1, THERE)))
        assert await cql("SELECT * FROM messages") == []
        watched.refused = ""
        await log.append(lines(an_entry(1)))
        assert await cql("SELECT conversation_id FROM buckets") == [(HERE,)], "a listing that failed is not remembered"

    async def test_one_that_is_listed_is_not_listed_again(self, log: CassandraHistory, watched: Watched) -> None:
        for position in (1, 2, 3):
            await log.append(lines(an_entry(position)))
        assert watched.done == ["bucket_list", "message_put", "message_put", "message_put"]


class TestStatuses:
    @pytest.mark.parametrize("turned", [False, True])
    async def test_the_higher_one_stays_whatever_is_told_last(self, turned: bool, log: CassandraHistory) -> None:
        """Neither is alphabetically greater, which decides when times are equal."""
        await log.append(lines(an_entry(1), an_entry(2)))
        told = [
            a_mark(1),
            a_mark(1, status="read", rank=5),
            a_mark(2, rank=5),
            a_mark(2, status="failed", generation=2),
        ]
        for mark in told[::-1] if turned else told:
            await log.settle([mark])
        assert [entry.status for entry in await log.page(END, 9)] == ["failed", "read"]

    async def test_they_are_written_at_a_time_made_of_generation_and_rank(
        self, log: CassandraHistory, cql: Ask
    ) -> None:
        await log.append(lines(an_entry(1)))
        await log.settle([a_mark(1, generation=2, rank=5)])
        assert await cql("SELECT WRITETIME(status) FROM messages") == [(T0 + 1 + 25,)]

    @pytest.mark.parametrize("limit", [1, 3, 7])
    async def test_pages_are_full_although_there_are_rows_without_a_body(
        self, limit: int, log: CassandraHistory
    ) -> None:
        await log.append(lines(*(an_entry(n) for n in range(1, 8))))
        await log.settle([a_mark(n) for n in range(4, 30)])
        await log.erase([spot(n) for n in range(30, 40)], LATER)
        assert [entry.position for entry in await log.page(END, limit)] == [7, 6, 5, 4, 3, 2, 1][:limit]


class TestPaging:
    BUCKETS = 40

    def history(self, each: int) -> list[Entry]:
        return [
            an_entry(of * each + n, id_at=Instant(T0 + message_keys.BUCKET * of + n))
            for of in range(self.BUCKETS)
            for n in range(1, each + 1)
        ]

    @pytest.mark.parametrize("depth", [0, 1, 19, 38])
    async def test_a_page_costs_the_same_at_any_depth(
        self, depth: int, log: CassandraHistory, watched: Watched
    ) -> None:
        said = self.history(10)[::-1]
        await log.append(lines(*said))
        watched.asked.clear()
        assert await log.page(after(said[depth * 10]), 10) == said[depth * 10 :][:10]
        assert watched.asked == ["messages_before"], "a page within a bucket"
        watched.asked.clear()
        assert await log.page(after(said[depth * 10 + 5]), 10) == said[depth * 10 + 5 :][:10]
        assert watched.asked == ["messages_before", "buckets_before", "messages_before"], "and one across two"

    async def test_a_quiet_conversation_is_read_in_few_rounds(self, log: CassandraHistory, watched: Watched) -> None:
        said = self.history(1)[::-1]
        await log.append(lines(*said))
        watched.asked.clear()
        assert await log.page(after(said[0]), 40) == said
        assert watched.asked.count("buckets_before") == 1
        assert watched.asked.count("messages_before") <= self.BUCKETS + 1

    async def test_a_list_of_buckets_goes_on_as_long_as_there_are_any(self, log: CassandraHistory) -> None:
        said = [an_entry(n, id_at=Instant(T0 + message_keys.BUCKET * 2 * n)) for n in range(1, 200)][::-1]
        await log.append(lines(*said))
        assert await log.page(after(said[0]), 1000) == said

    async def test_what_the_server_gives_in_parts_is_read_whole(
        self, log: CassandraHistory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(keyspace, "LARGEST_PAGE", 7)
        await log.append(lines(*(an_entry(n) for n in range(1, 41))))
        assert await positions(log) == list(range(40, 0, -1))
        assert len(await log.some([spot(n) for n in range(1, 41)])) == 40


def after(entry: Entry) -> ArchiveKey:
    return entry.archive_key._replace(position=Position(entry.position + 1), id_at=Instant(entry.id_at + 1))


class TestNoTombstones:
    async def test_none_is_ever_written(self, cassandra: Cassandra) -> None:
        """Neither for missing columns, nor for erased bodies: in its own keyspace, where nothing expires."""
        where = address.parse(cassandra.history_url("without_tombstones"))
        assert await keyspace.migrate(where) == ["log", "owner"]
        assert await keyspace.migrate(where) == []
        own = Keyspace(where, LEDGER)
        log = CassandraHistory(own)
        await log.append(lines(*(an_entry(n) for n in range(1, 21))))
        await log.erase([spot(n) for n in range(1, 11)], LATER)
        await log.settle([a_mark(n) for n in range(5, 15)])
        assert len(await log.page(END, 30)) == 20
        ask = asking(own._session)
        told = "SELECT count, max FROM system_views.tombstones_per_read WHERE keyspace_name = 'without_tombstones'"
        ((reads, most),) = await ask(f"{told} AND table_name = 'messages'")
        assert (reads > 0, most) == (True, 1), "its histogram has no smaller figure"
        await ask("DROP KEYSPACE without_tombstones")
        await log.close()


class TestFailures:
    async def test_many_are_written_at_once_and_the_first_failure_is_told(
        self, log: CassandraHistory, watched: Watched
    ) -> None:
        await log.append(lines(*(an_entry(n) for n in range(1, 1001))))
        assert len(await positions(log)) == 1000
        watched.refused = "message_put"
        with pytest.raises(Unavailable, match="a test says so"):
            await log.append(lines(*(an_entry(n) for n in range(1, 1001))))

    async def test_what_cannot_be_written_at_all_is_rejected_and_its_neighbours_are_written(
        self, log: CassandraHistory
    ) -> None:
        with pytest.raises(Rejected):
            await log.append(lines(an_entry(1, body="x" * 12_000_000), *(an_entry(n) for n in range(2, 301))))
        assert await positions(log) == list(range(300, 1, -1))

    async def test_where_nobody_answers_it_is_unavailable_and_says_so_at_once_again(
        self, migrated: CassandraAddress
    ) -> None:
        log = CassandraHistory(Keyspace(replace(migrated, port=1), LEDGER))
        for ask in (log.ping(), log.page(END, 1), log.append(lines(an_entry(1))), log.erase([spot(1)], LATER)):
            with pytest.raises(Unavailable, match="cannot be reached"):
                await ask
        await log.close()

    async def test_after_its_end_it_is_unavailable(self, log: CassandraHistory) -> None:
        await log.close()
        with pytest.raises(Unavailable, match="closed"):
            await log.page(END, 1)

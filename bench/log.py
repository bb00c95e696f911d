"""The history store on Cassandra beside the bare driver on the same node: appends, pages, and pages of any depth.

`python -m bench log` takes a conversation of 20,000 messages over 40 buckets; `python -m bench.log` one of 1,000,000.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from statistics import median
from typing import Any

import acsylla
import uvloop

from bench.table import Line as Figure
from bench.table import shown
from waypost.adapters.cassandra import address, keyspace, message_keys
from waypost.adapters.cassandra.history import CassandraHistory
from waypost.adapters.cassandra.keyspace import Keyspace
from waypost.adapters.cassandra.statements import load
from waypost.model.conversation import ArchiveKey, ConversationId, Entry, Position
from waypost.model.ids import Wamid
from waypost.model.time import Instant
from waypost.ports.history.history import ArchiveEntry
from waypost_testing.services.cassandra import Cassandra

START = Instant(1_760_000_000_000_000)
CONVERSATIONS = 500
IN_FLIGHT = 256
BATCH = 1000
"""Lines that one append is given, as the hand-over gives them."""
FILLED = 50
PAGE = 50
READERS = 32
BUCKETS = 40
MESSAGES = 20_000
ASKED = 200
TALK = 10**9
_BODY = '{"text":{"body":"' + "x" * 120 + '"}}'


def an_entry(conversation: int, position: int, at: int) -> Entry:
    return Entry(
        conversation_id=ConversationId(conversation),
        position=Position(position),
        id_at=Instant(at),
        at=Instant(at),
        sender="contact",
        type="text",
        body=_BODY,
        wamid=Wamid(f"wamid.{conversation}.{position}"),
    )


def load_of(first: int, count: int) -> list[Entry]:
    """Messages of many conversations in the order they came."""
    return [an_entry(first + n % CONVERSATIONS, n // CONVERSATIONS + 1, START + n) for n in range(count)]


class Bare:
    """The driver alone: the same rows by a prepared statement, pipelined, none of the rules."""

    def __init__(self, session: Any, insert: Any, select: Any) -> None:
        self._session, self._insert, self._select = session, insert, select

    @classmethod
    async def open(cls, where: address.CassandraAddress) -> Bare:
        session = await keyspace.opened(where, where.keyspace)
        known = load()
        prepared = [await session.create_prepared(known[name].text) for name in ("message_put", "messages_before")]
        return cls(session, *prepared)

    async def append(self, entries: Sequence[Entry]) -> None:
        waiting = iter(entries)
        await asyncio.gather(*(self._worker(waiting) for _ in range(IN_FLIGHT)))

    async def _worker(self, waiting: Iterator[Entry]) -> None:
        for of in waiting:
            await self._session.execute(self._bound(of))

    def _bound(self, of: Entry) -> Any:
        statement = self._insert.bind()
        said = (of.position, of.at, of.sender, of.type, of.body, of.wamid)
        key = (of.conversation_id, message_keys.bucket_of(of.id_at), message_keys.timeuuid(of.id_at))
        for number, value in enumerate((*key, *said)):
            statement.bind(number, value)
        statement.bind(11, of.id_at)
        return statement

    async def fill(self, partition: Sequence[Entry]) -> None:
        """Rows of one partition, by unlogged batches: the quickest way to have many."""
        waiting = iter(range(0, len(partition), FILLED))

        async def filler() -> None:
            for start in waiting:
                batch = acsylla.create_batch_unlogged()
                for of in partition[start : start + FILLED]:
                    batch.add_statement(self._bound(of))
                await self._session.execute_batch(batch)

        await asyncio.gather(*(filler() for _ in range(8)))

    async def page(self, before: ArchiveKey) -> int:
        key = [before.conversation_id, message_keys.bucket_of(before.id_at), message_keys.timeuuid(before.id_at), PAGE]
        found = await self._session.execute(self._select.bind(key))
        return len([row.as_tuple() for row in found.all()])

    async def close(self) -> None:
        await self._session.close()


async def rate(count: int, work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return count / (time.perf_counter() - began)


async def append_in_batches(log: CassandraHistory, entries: Sequence[Entry]) -> None:
    for start in range(0, len(entries), BATCH):
        await log.append([ArchiveEntry(entry=entry) for entry in entries[start : start + BATCH]])


async def read_pages(page: Callable[[ArchiveKey], Awaitable[int]], spots: Sequence[ArchiveKey]) -> None:
    waiting = iter(spots)

    async def reader() -> None:
        for spot in waiting:
            assert await page(spot) == PAGE

    await asyncio.gather(*(reader() for _ in range(READERS)))


async def beside(where: address.CassandraAddress, rounds: int, count: int) -> dict[str, list[float]]:
    """Both in turn, each round with rows of its own; the first round only warms the node up."""
    log, bare = CassandraHistory(Keyspace(where, "bench")), await Bare.open(where)

    async def history_page(spot: ArchiveKey) -> int:
        return len(await log.page(spot, PAGE))

    rates: dict[str, list[float]] = {}
    dice = random.Random(7)
    for number in range(rounds + 1):
        ours, theirs = (load_of((2 * number + side) * CONVERSATIONS, count) for side in (0, 1))
        last = {entry.conversation_id: entry.archive_key for entry in (*ours, *theirs) if entry.position > PAGE}
        spots = dice.choices(list(last.values()), k=max(500, count // 10))
        work = {
            "history, append": (count, lambda ours=ours: append_in_batches(log, ours)),
            "bare driver, append": (count, lambda theirs=theirs: bare.append(theirs)),
            "history, pages": (len(spots), lambda spots=spots: read_pages(history_page, spots)),
            "bare driver, pages": (len(spots), lambda spots=spots: read_pages(bare.page, spots)),
        }
        for name, (size, make) in work.items():
            found = await rate(size, make())
            if number:
                print(f"{name}: {found:,.0f}/s", flush=True)
                rates.setdefault(name, []).append(found)
    await log.close()
    await bare.close()
    return rates


async def long_talk(log: CassandraHistory, where: address.CassandraAddress, messages: int) -> list[ArchiveKey]:
    """A conversation over all buckets; where each of its messages is, oldest first."""
    bare, each = await Bare.open(where), messages // BUCKETS
    first, step, spots = (
        message_keys.bucket_of(START) * message_keys.BUCKET,
        message_keys.BUCKET // (each + 1),
        list[ArchiveKey](),
    )
    for bucket in range(BUCKETS):
        moments = (first + bucket * message_keys.BUCKET + n * step for n in range(1, each + 1))
        entries = [an_entry(TALK, bucket * each + n, at) for n, at in enumerate(moments, start=1)]
        await log.append([ArchiveEntry(entry=entries[0])])  # lists the bucket
        await bare.fill(entries)
        spots += [entry.archive_key for entry in entries]
    await bare.close()
    return spots


async def by_depth(where: address.CassandraAddress, messages: int) -> tuple[float, float]:
    """Medians in milliseconds of the first page of a long conversation and of its deepest, both across two buckets."""
    log = CassandraHistory(Keyspace(where, "bench"))
    spots = await long_talk(log, where, messages)
    each, half = messages // BUCKETS, PAGE // 2
    asked = {"first": len(spots) - each + half, "deepest": each + half}
    times: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(ASKED):
        for name, place in asked.items():
            began = time.perf_counter()
            page = await log.page(spots[place], PAGE)
            times[name].append(time.perf_counter() - began)
            assert [entry.position for entry in page] == list(range(place, place - PAGE, -1))
    await log.close()
    return median(times["first"]) * 1e3, median(times["deepest"]) * 1e3


def figures(rates: dict[str, list[float]]) -> list[Figure]:
    lines = []
    for what, unit in (("append", "messages/s"), ("pages", "pages/s")):
        ours, theirs = (median(rates[f"{who}, {what}"]) for who in ("history", "bare driver"))
        lines.append(Figure("log", f"bare driver, {what}", theirs, unit))
        lines.append(Figure("log", f"history, {what}", ours, unit, ours / theirs, f"bare driver, {what}", 0.6))
    return lines


def run(rounds: int, count: int, messages: int) -> list[Figure]:
    with Cassandra(full_speed=True) as server:
        where = address.parse(server.history_url("bench"))
        uvloop.run(keyspace.migrate(where))
        lines = figures(uvloop.run(beside(where, rounds, count)))
        first, deepest = uvloop.run(by_depth(where, messages))
    what = f"{messages:,} messages over {BUCKETS} buckets"
    print(f"{what}: first page {first:.2f} ms, deepest {deepest:.2f} ms", flush=True)
    return [
        *lines,
        Figure("log", f"history, first page of {what}", first, "ms"),
        Figure("log", "history, deepest page, times the first", deepest / first, "times", goal=1.2),
    ]


def measure(_url: str, rounds: int, count: int) -> list[Figure]:
    return run(rounds, max(count, PAGE * 2 * CONVERSATIONS), MESSAGES)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=PAGE * 2 * CONVERSATIONS)
    parser.add_argument("--messages", type=int, default=1_000_000)
    options = parser.parse_args()
    print(shown(run(options.rounds, options.count, options.messages)))

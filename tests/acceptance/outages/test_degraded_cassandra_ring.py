"""Three nodes of Cassandra, three copies, quorum: whatever happens to one node, reads and writes go on."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

import acsylla
import pytest

from tests.acceptance.conftest import Place, Report
from tests.acceptance.sending.test_kill_nine import QUIET, seeded
from tests.acceptance.stage.harness import until
from tests.acceptance.stage.inside import connect
from tests.acceptance.stage.passage import Passage, check, passage
from tests.recording import record
from tests.started import or_skip
from waypost.adapters.cassandra.address import CassandraAddress, parse
from waypost.adapters.cassandra.keyspace import opened
from waypost_testing.services.cassandra_ring import CassandraRing, RingNode

pytestmark = pytest.mark.skipif(
    not os.environ.get("WAYPOST_TEST_RING"), reason="three nodes take minutes: make proof ARGS=cassandra"
)

KEYSPACE = "ring"
GRACE = "0.02"
"""Minutes: so soon a body is only in Cassandra."""
PER_SECOND = 10
READERS = 4
READS = 20
"""At least so many times the conversation is read from end to end during each fault."""
BUSY = "503 unavailable, Retry-After 1"
"""From PostgreSQL, beside three nodes of Cassandra on a small machine; Cassandra's is `history_unavailable`."""
STALLED, RUNNING = 0.4, 0.1
"""Seconds that a slow node stands still, and runs, in turn."""


@pytest.fixture
def ring() -> Iterator[CassandraRing]:
    with or_skip(CassandraRing()) as three:
        yield three


@dataclass
class Reader:
    """Reads a customer's conversation from end to end, again and again; what it has once read, it must find again."""

    flow: Passage
    reads: int = 0
    slowest: float = 0.0
    seen: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)

    async def read_on(self) -> None:
        where = await self.flow.conversation()
        while True:
            began = time.monotonic()
            known = set(self.seen)
            texts, whole = await self.flow.history(where)
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.reads += whole
            if whole:
                self.missing |= known - set(texts)
                self.seen |= set(texts)


@dataclass
class Strikes:
    """One fault after the other, each to one node, and what callers and readers saw meanwhile."""

    flow: Passage
    ring: CassandraRing
    told: list[str] = field(default_factory=list)
    refused: int = 0
    missing: int = 0

    def __post_init__(self) -> None:
        self._reader = Reader(self.flow)

    async def all(self) -> None:
        first, second, third = self.ring.nodes
        await until(self._some_are_only_there, "some bodies are only in Cassandra")
        await self._during("killed", self._killed, second)
        await self._during("paused", self._paused, first)
        await self._during("slow", self._slow, second)
        await self._during("lost and replaced", self._replaced, third)

    async def _during(self, name: str, fault: Callable[[RingNode], Awaitable[None]], node: RingNode) -> None:
        reader = self._reader = Reader(self.flow, seen=self._reader.seen)
        seen, began = len(self.flow.api.seen), time.monotonic()
        reading = [asyncio.ensure_future(reader.read_on()) for _ in range(READERS)]
        await fault(node)
        lasted = time.monotonic() - began
        for task in reading:
            task.cancel()
        ended = await asyncio.gather(*reading, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError) for each in ended), ended
        answers = self.flow.api.seen[seen:]
        failed = sum(not 0 < each.status < 500 for each in answers)
        refused = sum(each.code == "history_unavailable" for each in answers)
        self.refused += refused
        self.missing += len(reader.missing)
        reads = f"{reader.reads} times read in at most {reader.slowest:.1f} s, {len(reader.missing)} texts missing"
        self.told.append(f"{name}: {lasted:.0f} s, {len(answers)} requests, {failed} failed, {reads}")
        counted = {"requests": len(answers), "failed": failed, "violations": len(reader.missing) + refused}
        record(footprint="ring", strikes=1, fault=self.told[-1], **counted)

    async def _killed(self, node: RingNode) -> None:
        await asyncio.to_thread(node.kill)
        await self._noticed(node, "DOWN")
        await self._read_enough()
        await asyncio.to_thread(node.start)
        await self._noticed(node, "UP")

    async def _paused(self, node: RingNode) -> None:
        node.pause()
        try:
            await self._noticed(node, "DOWN")
            await self._read_enough()
        finally:
            node.go_on()
        await self._noticed(node, "UP")

    async def _slow(self, node: RingNode) -> None:
        while self._reader.reads < READS:
            node.pause()
            await asyncio.sleep(STALLED)
            node.go_on()
            await asyncio.sleep(RUNNING)

    async def _replaced(self, node: RingNode) -> None:
        await asyncio.to_thread(node.kill)
        await self._noticed(node, "DOWN")
        await asyncio.to_thread(node.replace)
        await self._noticed(node, "UP")
        await asyncio.to_thread(node.repair, KEYSPACE)

    async def _read_enough(self) -> None:
        async def enough() -> bool:
            return self._reader.reads >= READS

        await until(enough, f"the conversation was read {READS} times")

    async def _noticed(self, node: RingNode, state: str) -> None:
        await asyncio.to_thread(self.ring.wait_until_known, node, state)

    async def _some_are_only_there(self) -> bool:
        return await self.flow.api.figure("history_bodies_pruned_total") > 0

    async def is_archived(self) -> bool:
        return await self.flow.api.figure("history_waiting_items") == 0


async def test_one_node_killed_paused_slow_or_lost_for_ever_is_noticed_by_nobody(
    place: Place, ring: CassandraRing, report: Report
) -> None:
    here = place("postgres")
    url = ring.history_url(KEYSPACE)
    here.settings |= QUIET | {"WAYPOST_HISTORY_URL": url, "WAYPOST_HISTORY_GRACE_MINUTES": GRACE}
    await connect(here)
    here.serve()
    async with passage(here, seeded(report), per_second=PER_SECOND) as flow:
        strikes = Strikes(flow, ring)
        told = await flow.through(strikes.all)
        await until(strikes.is_archived, "everything is in Cassandra")
        failures = await flow.api.figure("history_failure_total")
    report("; ".join([*strikes.told, f"history_failure_total {failures:.0f}", str(told)]))
    await check(told, here, strikes=0)
    assert strikes.missing == 0
    assert strikes.refused == 0
    assert told.refusals <= {BUSY}
    await the_replaced_node_has_everything(ring, url, report)


async def the_replaced_node_has_everything(ring: CassandraRing, url: str, report: Report) -> None:
    """Alone it shows as many messages as all three together."""
    together = await stored(parse(url))
    first, second, replaced = ring.nodes
    for node in (first, second):
        await asyncio.to_thread(node.kill)

    async def knows() -> bool:
        return all(replaced.knows(node.host, "DOWN") for node in (first, second))

    await until(knows, "the replaced node knows that it is alone")
    alone = await stored(parse(replaced.history_url(KEYSPACE, consistency="LOCAL_ONE")))
    report(f"{together} messages in three copies, {alone} in the replaced node alone")
    assert alone == together > 0


async def stored(address: CassandraAddress) -> int:
    session = await opened(address, address.keyspace)
    try:
        found = await session.execute(acsylla.create_statement("SELECT count(*) FROM messages"))
        return int(found.first().column_value("count"))
    finally:
        await session.close()

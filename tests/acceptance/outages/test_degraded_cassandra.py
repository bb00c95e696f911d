"""Cassandra is killed under a flow of messages: nothing waits for it, the recent history shows, and it catches up.

What it confirmed and lost is appended again before the database lets go of it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator

import pytest

from tests.acceptance.conftest import Place, Report
from tests.acceptance.sending.test_kill_nine import QUIET, seeded
from tests.acceptance.stage.harness import Site, until
from tests.acceptance.stage.inside import connect, world_of
from tests.acceptance.stage.passage import CUSTOMER, Passage, check, passage
from tests.acceptance.stage.talking import say
from tests.started import or_skip
from waypost.model.time import Instant
from waypost_testing.services.cassandra import FORGETFUL, Cassandra

AWAY = float(os.environ.get("WAYPOST_TEST_CASSANDRA_SEC") or 2)
KILLS = int(os.environ.get("WAYPOST_TEST_CASSANDRA_KILLS") or 2)
GRACE = "0.1"
"""Minutes: so soon a body is only in the history store; longer than that store may lose what it confirmed."""


@pytest.fixture
def own_cassandra() -> Iterator[Cassandra]:
    """One that may be killed, and loses the last seconds then."""
    with or_skip(Cassandra(FORGETFUL)) as node:
        yield node


async def test_cassandra_is_killed(place: Place, own_cassandra: Cassandra, report: Report) -> None:
    here = place("postgres")
    here.settings |= QUIET | {
        "WAYPOST_HISTORY_URL": own_cassandra.history_url("degraded"),
        "WAYPOST_HISTORY_GRACE_MINUTES": GRACE,
    }
    await connect(here)
    here.serve()
    async with passage(here, seeded(report)) as flow:
        away = Away(flow, own_cassandra)
        told = await flow.through(away.through)
        since = time.monotonic()
        await until(away.has_caught_up, "everything that waited is in the history store")
        caught_up = time.monotonic() - since
        await away.again()
        before, _ = await flow.history(await flow.conversation())
        await until(lambda: is_emptied(here), "every body is only in the history store")
        after, whole = await flow.history(await flow.conversation())
        failures = await flow.api.figure("history_failure_total")
        forgotten = await flow.api.figure("history_forgotten_total")
    report(
        f"{told}; {away.told}; history_failure_total {failures:.0f}; caught up {caught_up:.1f} s after it was at rest; "
        f"killed {KILLS} times it lost {forgotten:.0f} messages that it had confirmed, of {len(after)} shown"
    )
    await check(told, here)
    assert (after, whole) == (before, True), "every line can be read when only the history store has it"
    assert told.refusals <= {"503 history_unavailable, Retry-After 5"}, "only who reads far back is refused"
    assert failures > 0


async def is_emptied(here: Site) -> bool:
    async with world_of(here) as world:
        return not await world.ledger.archive.confirmed(Instant(0), Instant(2**62), 1)


class Away:
    def __init__(self, flow: Passage, node: Cassandra) -> None:
        self._flow = flow
        self._node = node
        self.told = ""

    async def through(self) -> None:
        await until(self._some_are_only_there, "some bodies are only in the history store")
        where = await self._flow.conversation()
        await self._kill()
        await asyncio.sleep(AWAY)
        recent, whole = await self._flow.history(where)
        assert recent, "the recent part shows"
        assert not whole, "what is only in the history store does not"
        self.told = f"meanwhile {len(recent)} lines of the history showed"
        await asyncio.to_thread(self._node.start)

    async def again(self) -> None:
        """Kills in a row, when little else needs the machine: each start is quick."""
        for number in range(KILLS - 1):
            kill = asyncio.ensure_future(self._kill())
            while not kill.done():
                await say(self._flow.sandbox, CUSTOMER, text=f"again {number}, {time.monotonic()}")
            await kill
            await asyncio.to_thread(self._node.start)
        await until(self.has_caught_up, "everything that waited is in the history store")

    async def _kill(self) -> None:
        """Just after it confirmed something, which it loses."""
        archived, failures = await self._archived(), await self._failures()
        await until(lambda: self._has_more(archived), "more is archived")
        await asyncio.to_thread(self._node.kill)
        await until(lambda: self._fails_more(failures), "history_failure_total shows it")

    async def has_caught_up(self) -> bool:
        return await self._flow.api.figure("history_waiting_items") == 0

    async def _some_are_only_there(self) -> bool:
        return await self._flow.api.figure("history_bodies_pruned_total") > 0

    async def _archived(self) -> float:
        return await self._flow.api.figure("history_archived_total")

    async def _failures(self) -> float:
        return await self._flow.api.figure("history_failure_total")

    async def _has_more(self, than: float) -> bool:
        return await self._archived() > than

    async def _fails_more(self, than: float) -> bool:
        return await self._failures() > than

"""Cassandra is killed under a flow of messages: nothing waits for it, the recent history shows, and it catches up."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator

import pytest

from tests.acceptance.conftest import Place, Report
from tests.acceptance.sending.test_kill_nine import QUIET, seeded
from tests.acceptance.stage.harness import until
from tests.acceptance.stage.inside import connect
from tests.acceptance.stage.passage import Passage, check, passage
from tests.started import or_skip
from waypost_testing.services.cassandra import Cassandra

AWAY = float(os.environ.get("WAYPOST_TEST_CASSANDRA_SEC") or 2)
GRACE = "0.02"
"""Minutes: so soon a body is only in the history store."""


@pytest.fixture
def own_cassandra() -> Iterator[Cassandra]:
    """One that may be killed."""
    with or_skip(Cassandra()) as node:
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
        failures = await flow.api.figure("history_failure_total")
    report(
        f"{told}; {away.told}; history_failure_total {failures:.0f}; caught up {caught_up:.1f} s after it was at rest"
    )
    await check(told, here)
    assert told.refusals <= {"503 history_unavailable, Retry-After 5"}, "only who reads far back is refused"
    assert failures > 0


class Away:
    def __init__(self, flow: Passage, node: Cassandra) -> None:
        self._flow = flow
        self._node = node
        self.told = ""

    async def through(self) -> None:
        await until(self._some_are_only_there, "some bodies are only in the history store")
        where = await self._flow.conversation()
        await asyncio.to_thread(self._node.kill)
        await until(self._is_missed, "history_failure_total shows it")
        await asyncio.sleep(AWAY)
        recent, whole = await self._flow.history(where)
        assert recent, "the recent part shows"
        assert not whole, "what is only in the history store does not"
        self.told = f"meanwhile {len(recent)} lines of the history showed"
        await asyncio.to_thread(self._node.start)

    async def has_caught_up(self) -> bool:
        return await self._flow.api.figure("history_waiting_items") == 0

    async def _some_are_only_there(self) -> bool:
        return await self._flow.api.figure("history_bodies_pruned_total") > 0

    async def _is_missed(self) -> bool:
        return await self._flow.api.figure("history_failure_total") > 0

"""Redis is killed, paused and flushed under a flow of messages: slower, never wrong, and by itself as before."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator

import pytest

from tests.acceptance.clients import Api
from tests.acceptance.conftest import Place, Report
from tests.acceptance.harness import free_port, until
from tests.acceptance.inside import connect
from tests.acceptance.passage import check, passage
from tests.acceptance.test_kill_nine import QUIET, seeded
from waypost.testing.services import Redis, ServiceMissing

AWAY = float(os.environ.get("WAYPOST_TEST_REDIS_SEC") or 1)
UP = "waypost_redis_up"


@pytest.fixture
def own_redis() -> Iterator[Redis]:
    """One that may be stopped."""
    try:
        with Redis() as server:
            yield server
    except ServiceMissing as missing:
        pytest.skip(str(missing))


class Spells:
    """Each trouble with Redis in turn, and how long it was until both processes had it back."""

    def __init__(self, redis: Redis, both: list[Api]) -> None:
        self._redis = redis
        self._both = both
        self.told: list[str] = []

    async def killed(self) -> None:
        await asyncio.to_thread(self._redis.kill)
        await self._seen(up=False)
        await asyncio.sleep(AWAY)
        await asyncio.to_thread(self._redis.start)
        await self._back("killed")

    async def paused(self) -> None:
        os.kill(self._redis.pid, signal.SIGSTOP)
        await self._seen(up=False)
        await asyncio.sleep(AWAY)
        os.kill(self._redis.pid, signal.SIGCONT)
        await self._back("paused")

    async def flushed(self) -> None:
        await asyncio.to_thread(self._redis.flush)
        await self._back("flushed")

    async def all(self) -> None:
        for spell in (self.killed, self.paused, self.flushed):
            await spell()

    async def _back(self, what: str) -> None:
        since = time.monotonic()
        await self._seen(up=True)
        self.told.append(f"{what}: back after {time.monotonic() - since:.1f} s")

    async def _seen(self, *, up: bool) -> None:
        async def by_all() -> bool:
            return all([(await api.figure(UP) > 0) == up for api in self._both])

        await until(by_all, f"{UP} shows that Redis is {'there' if up else 'away'}")


async def test_redis_is_killed_paused_and_flushed(place: Place, own_redis: Redis, report: Report) -> None:
    """One process takes what callers post, the other sends it: wake-ups between them go through Redis."""
    here = place("postgres")
    here.settings |= QUIET | {"WAYPOST_REDIS_URL": own_redis.url}
    await connect(here)
    other = free_port()
    here.serve("--roles", "api,gateway")
    here.start("serve", "--port", str(other), "--roles", "worker")
    async with passage(here, seeded(report)) as flow:
        beside = Api(flow.api.session, f"http://127.0.0.1:{other}", {})
        await beside.ready()
        spells = Spells(own_redis, [flow.api, beside])
        told = await flow.through(spells.all)
        lost = await flow.api.figure("waypost_redis_dropped_total") + await beside.figure("waypost_redis_dropped_total")
    report(f"{'; '.join(spells.told)}; {told}; waypost_redis_dropped_total {lost:.0f}")
    await check(told, here)
    assert not told.refused

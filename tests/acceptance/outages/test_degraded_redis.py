"""Redis is killed, paused and flushed under a flow of messages: slower, never wrong, and by itself as before."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator

import pytest
from redis.asyncio import Redis as Library

from tests.acceptance.conftest import Place, Report
from tests.acceptance.sending.test_kill_nine import QUIET, seeded
from tests.acceptance.stage.clients import Api
from tests.acceptance.stage.harness import ORG, free_port, until
from tests.acceptance.stage.inside import connect
from tests.acceptance.stage.passage import check, passage
from tests.started import or_skip
from waypost_testing.services.processes import Redis

AWAY = float(os.environ.get("WAYPOST_TEST_REDIS_SEC") or 1)
UP, DROPPED = "waypost_redis_up", "waypost_redis_dropped_total"
COUNTER = f"whatsapp:ratelimit:counter:{ORG}"
"""Written whenever something is sent; neither a killed nor a flushed Redis has it still."""


@pytest.fixture
def own_redis() -> Iterator[Redis]:
    """One that may be stopped."""
    with or_skip(Redis()) as server:
        yield server


class Spells:
    """Each trouble with Redis in turn, how long it was until it was in use again, and what did not get there."""

    def __init__(self, redis: Redis, both: list[Api]) -> None:
        self._redis = redis
        self._both = both
        self.told: list[str] = []
        self.dropped: dict[str, float] = {}

    async def killed(self) -> None:
        await asyncio.to_thread(self._redis.kill)
        await self._seen(up=False)
        await asyncio.sleep(AWAY)
        await asyncio.to_thread(self._redis.start)

    async def paused(self) -> None:
        os.kill(self._redis.pid, signal.SIGSTOP)
        await self._seen(up=False)
        await asyncio.sleep(AWAY)
        os.kill(self._redis.pid, signal.SIGCONT)

    async def flushed(self) -> None:
        await asyncio.to_thread(self._redis.flush)

    async def all(self) -> None:
        await until(self._is_written, "the counter is in Redis")
        for spell in (self.killed, self.paused, self.flushed):
            before = await self._dropped()
            await spell()
            since = time.monotonic()
            await self._seen(up=True)
            await until(self._is_written, "the counter is in Redis again")
            self.dropped[spell.__name__] = await self._dropped() - before
            self.told.append(
                f"{spell.__name__}: in use again after {time.monotonic() - since:.1f} s, "
                f"dropped {self.dropped[spell.__name__]:.0f}"
            )

    async def _seen(self, *, up: bool) -> None:
        async def by_all() -> bool:
            return all([(await api.figure(UP) > 0) == up for api in self._both])

        await until(by_all, f"{UP} shows that Redis is {'there' if up else 'away'}")

    async def _is_written(self) -> bool:
        async with Library.from_url(self._redis.url, driver_info=None) as library:
            return bool(await library.exists(COUNTER))

    async def _dropped(self) -> float:
        return sum([await api.figure(DROPPED) for api in self._both])


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
    report(f"{'; '.join(spells.told)}; {told}")
    await check(told, here)
    assert not told.refused
    assert spells.dropped["killed"] > 0
    assert spells.dropped["paused"] > 0

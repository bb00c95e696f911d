"""Redis is killed, paused, flushed and failed over under a flow of messages: slower, never wrong, then as before."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from redis.asyncio import Redis as Library
from redis.exceptions import ConnectionError as Disconnected

from tests.acceptance.conftest import Place, Report
from tests.acceptance.sending.test_kill_nine import QUIET, seeded
from tests.acceptance.stage.clients import Api
from tests.acceptance.stage.harness import ORG, Site, free_port, until
from tests.acceptance.stage.inside import connect
from tests.acceptance.stage.passage import Passage, check, passage
from tests.conformance.redis.redis_kinds import Sentinel, watched
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
        await seen(self._both, up=up)

    async def _is_written(self) -> bool:
        async with Library.from_url(self._redis.url, driver_info=None) as library:
            return bool(await library.exists(COUNTER))

    async def _dropped(self) -> float:
        return sum([await api.figure(DROPPED) for api in self._both])


async def seen(both: list[Api], *, up: bool) -> None:
    async def by_all() -> bool:
        return all([(await api.figure(UP) > 0) == up for api in both])

    await until(by_all, f"{UP} shows that Redis is {'there' if up else 'away'}")


@asynccontextmanager
async def two_processes(here: Site, redis_url: str, report: Report) -> AsyncIterator[tuple[Passage, list[Api]]]:
    """One process takes what callers post, the other sends it: wake-ups between them go through Redis."""
    here.settings.pop("WAYPOST_REDIS_URL", None)
    here.settings |= QUIET
    await connect(here)  # in this process, which is not to listen
    here.settings["WAYPOST_REDIS_URL"] = redis_url
    other = free_port()
    here.serve("--roles", "api,gateway")
    here.start("serve", "--port", str(other), "--roles", "worker")
    async with passage(here, seeded(report)) as flow:
        beside = Api(flow.api.session, f"http://127.0.0.1:{other}", {})
        await beside.ready()
        yield flow, [flow.api, beside]


async def test_redis_is_killed_paused_and_flushed(place: Place, own_redis: Redis, report: Report) -> None:
    here = place("postgres")
    async with two_processes(here, own_redis.url, report) as (flow, both):
        spells = Spells(own_redis, both)
        told = await flow.through(spells.all)
    report(f"{'; '.join(spells.told)}; {told}")
    await check(told, here, strikes=len(spells.told))
    assert not told.refused
    assert spells.dropped["killed"] > 0
    assert spells.dropped["paused"] > 0


@pytest.fixture
def three() -> Iterator[tuple[Sentinel, Redis, Redis]]:
    with or_skip(watched()) as started:
        yield started


async def listeners(server: Redis) -> int:
    """Processes that hear the hints there."""
    async with Library.from_url(server.url, driver_info=None) as library:
        ask: Any = library.execute_command
        channels = await ask("PUBSUB", "SHARDCHANNELS", "waypost:hints:*")
        return sum([int((await ask("PUBSUB", "SHARDNUMSUB", channel))[1]) for channel in channels])


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "paused"])
async def test_the_master_is_lost_and_its_replica_promoted(
    place: Place, three: tuple[Sentinel, Redis, Redis], sign: signal.Signals, report: Report
) -> None:
    """A master that was only paused comes back and takes itself for the master still: nobody listens there."""
    here = place("postgres")
    sentinel, master, replica = three
    took = 0.0
    async with two_processes(here, sentinel.url, report) as (flow, both):

        async def all_listen_there() -> bool:
            with suppress(Disconnected):  # a replica that is promoted closes its connections
                return await listeners(replica) == len(both)
            return False

        async def fail_over() -> None:
            nonlocal took
            await seen(both, up=True)
            assert await listeners(master) == len(both)
            began = time.monotonic()
            os.kill(master.pid, sign)
            await until(all_listen_there, "both processes listen at the promoted replica")
            await seen(both, up=True)
            took = time.monotonic() - began
            os.kill(master.pid, signal.SIGCONT)

        told = await flow.through(fail_over)
        await until(all_listen_there, "both processes listen there still")
        dropped = sum([await api.figure(DROPPED) for api in both])
    report(f"hints again {took:.1f} s after the master was {sign.name}, dropped {dropped:.0f}; {told}")
    await check(told, here)

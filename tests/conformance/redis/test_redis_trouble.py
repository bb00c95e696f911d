"""Redis killed, paused, flushed, restarted, or missing: no call waits for it, and everything recovers by itself."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator

import pytest
from redis.asyncio import Redis as Library

from tests.conformance.redis.machines import Machine, Makes, machines_on
from tests.started import or_skip
from waypost.adapters.local.clock import SystemClock
from waypost.adapters.local.presence import LocalPresence
from waypost.adapters.redis.connection import TOPICS_AT_MOST
from waypost.adapters.redis.presence import RedisPresence
from waypost.model.chat import DeviceId
from waypost.model.ids import OrgId, UserId
from waypost.ports.live.presence import PresenceState
from waypost.ports.platform.hints import OUTBOX, about_message
from waypost.runtime.telemetry.telemetry import Telemetry
from waypost_testing.contracts.platform.hints import NOW, SOON
from waypost_testing.services.processes import Redis

AT_ONCE = 0.9
"""Seconds; a call that waited for Redis would take longer."""


@pytest.fixture
def own_redis() -> Iterator[Redis]:
    with or_skip(Redis()) as server:
        yield server


@pytest.fixture
async def machines(own_redis: Redis) -> AsyncIterator[Makes]:
    async with machines_on(own_redis.url) as makes:
        yield makes


async def hears(here: Machine, there: Machine) -> None:
    with there.hints.listen(OUTBOX) as ear:
        here.hints.give([OUTBOX])
        assert await ear.wait(SOON)


async def goes_on_alone(here: Machine) -> None:
    """Local listeners are woken at once, regardless of Redis."""
    began = time.monotonic()
    with here.hints.listen(OUTBOX) as ear:
        for n in range(1000):
            here.hints.give([OUTBOX, about_message(n)])
        assert await ear.wait(NOW)
    await asyncio.sleep(0)
    assert time.monotonic() - began < AT_ONCE


async def test_killed_and_started_again_on_the_same_port(own_redis: Redis, machines: Makes) -> None:
    here, there = await machines(), await machines()
    await asyncio.to_thread(own_redis.kill)
    await goes_on_alone(here)
    await here.reaches(up=False)
    await there.reaches(up=False)
    await goes_on_alone(here)
    assert here.line.dropped >= 1000
    await asyncio.to_thread(own_redis.start)
    await here.reaches()
    await there.reaches()
    await hears(here, there)
    assert here.line.reconnects == 1


async def test_paused_it_is_noticed_and_taken_up_again(own_redis: Redis, machines: Makes) -> None:
    here, there = await machines(), await machines()
    os.kill(own_redis.pid, signal.SIGSTOP)
    await goes_on_alone(here)
    await here.reaches(up=False)
    await there.reaches(up=False)  # it had nothing to send, and checked by itself
    await goes_on_alone(here)
    os.kill(own_redis.pid, signal.SIGCONT)
    await here.reaches()
    await there.reaches()
    await hears(here, there)


async def test_flushed_it_wakes_as_before_and_who_is_here_is_said_again(own_redis: Redis, machines: Makes) -> None:
    here, there = await machines(), await machines()
    presence = RedisPresence(LocalPresence(here.hints, SystemClock()), here.line, "gateway")
    presence.set(OrgId("acme"), UserId("ann"), DeviceId("phone"), PresenceState.ONLINE)
    await here.all_sent()
    await asyncio.to_thread(own_redis.flush)
    await hears(here, there)
    assert await presence.of([UserId("ann")]) == {"ann": PresenceState.ONLINE}
    presence.set(OrgId("acme"), UserId("ann"), DeviceId("phone"), PresenceState.ONLINE)
    await here.all_sent()
    async with Library.from_url(own_redis.url, driver_info=None) as library:
        assert await library.exists("presence:ann", "session:ann") == 2


async def test_not_there_at_the_start_it_is_found_later_and_hears_the_last_word(
    own_redis: Redis, machines: Makes
) -> None:
    await asyncio.to_thread(own_redis.stop)
    here = await machines(up=False)
    presence = RedisPresence(LocalPresence(here.hints, SystemClock()), here.line, "gateway")
    for state in (PresenceState.SYNCING, PresenceState.ONLINE):
        presence.set(OrgId("acme"), UserId("ann"), DeviceId("phone"), state)
    await goes_on_alone(here)
    await asyncio.to_thread(own_redis.start)
    await here.reaches()
    await here.all_sent()
    async with Library.from_url(own_redis.url, driver_info=None) as library:
        assert sorted(await library.keys()) == [b"presence:ann", b"session:ann"]


async def test_what_waits_is_bounded(own_redis: Redis, machines: Makes) -> None:
    os.kill(own_redis.pid, signal.SIGSTOP)
    here = await machines(up=False)
    here.hints.give(map(about_message, range(TOPICS_AT_MOST + 5)))
    assert len(here.line._topics) == TOPICS_AT_MOST
    assert here.line.dropped == 5
    os.kill(own_redis.pid, signal.SIGCONT)


@pytest.mark.may_block("the figures read what the system knows of this process")
async def test_the_operator_sees_all_of_it(own_redis: Redis, machines: Makes) -> None:
    here, figures = await machines(), Telemetry()
    here.line.watch(figures)
    assert 'waypost_redis_up{kind="server"} 1.0' in figures.text().decode()
    await asyncio.to_thread(own_redis.kill)
    await here.reaches(up=False)
    here.hints.give([OUTBOX])
    shown = figures.text().decode()
    assert 'waypost_redis_up{kind="server"} 0.0' in shown
    assert "waypost_redis_dropped_total 1.0" in shown
    await asyncio.to_thread(own_redis.start)
    await here.reaches()
    shown = figures.text().decode()
    assert 'waypost_redis_up{kind="server"} 1.0' in shown
    assert "waypost_redis_reconnects_total 1.0" in shown


def test_where_there_is_no_redis_nothing_is_shown_of_it() -> None:
    assert "waypost_redis_up{" not in Telemetry().text().decode()

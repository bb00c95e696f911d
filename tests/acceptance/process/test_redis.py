"""One process takes messages, another sends them, and only PostgreSQL and Redis are between: Redis in every trouble."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from tests.acceptance.conftest import Place, Report
from tests.acceptance.stage.clients import Api, clients
from tests.acceptance.stage.harness import Site, free_port, until
from tests.started import or_skip
from waypost_testing.services.processes import Redis

POLL = 1.5
MESSAGES = 3
ANSWER = 0.9
"""Seconds that a call may take, whatever becomes of Redis: one that waited for it would take a second or more."""


@pytest.fixture
def redis_alone() -> Iterator[Redis]:
    with or_skip(Redis()) as server:
        yield server


class Took(NamedTuple):
    answer: float
    """The slowest call, in seconds."""
    sent: float
    """From the answer until it is sent, in the middle."""

    def __str__(self) -> str:
        return f"answered in {self.answer * 1000:.0f} ms, sent in {self.sent * 1000:.0f} ms"


async def send(api: Api) -> Took:
    answers, sends = [], []
    for n in range(MESSAGES):
        began = time.monotonic()
        posted = await api.post({"to": f"+155530000{n:02}", "payloadJson": {"text": "hello"}})
        answers.append(time.monotonic() - began)
        assert posted.status == 201
        await api.settled(posted.body["id"])
        sends.append(time.monotonic() - began - answers[-1])
    return Took(max(answers), sorted(sends)[MESSAGES // 2])


class Two(NamedTuple):
    """The one that takes and the one that sends."""

    api: Api
    worker: Api

    async def reach(self, *, up: bool) -> None:
        async def both_agree() -> bool:
            return [await each.figure("waypost_redis_up") for each in self] == [up, up]

        await until(both_agree, f"both say that Redis is {'up' if up else 'down'}")


@asynccontextmanager
async def two_on(here: Site, redis: Redis) -> AsyncIterator[Two]:
    poll = {"WAYPOST_OUTBOUND_WORKER_POLL_INTERVAL_MS": str(round(POLL * 1000))}
    here.settings |= {"WAYPOST_REDIS_URL": redis.url, **poll}
    here.connect()
    port = free_port()
    here.serve("--roles", "api")
    here.start("serve", "--port", str(port), "--roles", "worker")
    async with clients(here) as (api, _):
        worker = Api(api.session, f"http://127.0.0.1:{port}", {})
        await api.ready()
        await worker.ready()
        yield Two(api, worker)


async def test_killed_paused_flushed_and_restarted_it_costs_time_and_nothing_else(
    place: Place, redis_alone: Redis, report: Report
) -> None:
    async with two_on(place("postgres"), redis_alone) as two:
        await two.reach(up=True)
        await send(two.api)  # whatever is slow only once
        took = {"up": await send(two.api)}
        redis_alone.flush()
        took["flushed"] = await send(two.api)
        os.kill(redis_alone.pid, signal.SIGSTOP)
        took["paused"] = await send(two.api)
        await two.reach(up=False)
        os.kill(redis_alone.pid, signal.SIGCONT)
        await two.reach(up=True)
        took["resumed"] = await send(two.api)
        await asyncio.to_thread(redis_alone.kill)
        took["killed"] = await send(two.api)
        assert await two.api.answers("/readyz")
        await asyncio.to_thread(redis_alone.start)
        began = time.monotonic()
        await two.reach(up=True)
        back = time.monotonic() - began
        took["restarted"] = await send(two.api)
    report("; ".join(f"{state}: {each}" for state, each in took.items()) + f"; back after {back:.1f} s")
    assert max(each.answer for each in took.values()) < ANSWER
    assert max(took[state].sent for state in ("up", "flushed", "resumed", "restarted")) < POLL / 2
    assert max(took[state].sent for state in ("paused", "killed")) < POLL * 2


def test_a_command_answers_as_ever_while_redis_is_away(place: Place) -> None:
    ran = place("sqlite").run("admin", "create-org", "acme", "--json", WAYPOST_REDIS_URL="redis://127.0.0.1:1")
    assert (ran.code, ran.err) == (0, "")
    assert ran.fields["org_id"] == "acme"

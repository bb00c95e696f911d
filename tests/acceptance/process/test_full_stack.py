"""PostgreSQL decides, Redis hints, Cassandra remembers: two installations that share only these three, and kills."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from typing import NamedTuple

import pytest

from tests.acceptance.conftest import Place, Report
from tests.acceptance.process.test_redis import send
from tests.acceptance.sending.test_kill_nine import QUIET, seeded
from tests.acceptance.stage.clients import Api
from tests.acceptance.stage.harness import ORG, Program, Site, free_port, until
from tests.acceptance.stage.inside import connect, world_of
from tests.acceptance.stage.passage import CUSTOMER, Passage, check, passage
from waypost.model.conversation import Position
from waypost.model.ids import OrgId

KILLS = 6
POLL = 20.0
"""Seconds: so rarely do the workers look by themselves, so whatever is sent soon was hinted at through Redis."""
SOON = 3.0
MOST = 10_000
"""More lines than the customer writes."""


@pytest.fixture
async def stack(place: Place) -> Site:
    here = place("stack")
    here.settings |= QUIET | {"WAYPOST_OUTBOUND_WORKER_POLL_INTERVAL_MS": str(round(POLL * 1000))}
    await connect(here)
    return here


class House(NamedTuple):
    """The processes of one machine: what they tell each other by datagrams reaches no other house."""

    running: Program
    size: int
    api: Api

    async def all_run(self) -> bool:
        return len(self.running.children()) == self.size

    async def lose_one(self, dice: random.Random) -> None:
        victim = dice.choice(self.running.children())
        os.kill(victim, signal.SIGKILL)

        async def is_replaced() -> bool:
            return victim not in self.running.children() and await self.all_run()

        await until(is_replaced, "the killed one is replaced")


class Two(NamedTuple):
    front: House
    back: House

    async def lose_some(self, dice: random.Random) -> None:
        for number in range(KILLS):
            await asyncio.sleep(dice.uniform(0.2, 1.0))  # the moment of the kill is drawn, not waited for
            await self[number % 2].lose_one(dice)

    async def total(self, name: str) -> float:
        return sum([await house.api.figure(name) for house in self])

    async def reach_redis(self) -> bool:
        return [await house.api.figure("waypost_redis_up") for house in self] == [1, 1]


async def test_sending_with_kills_on_the_full_stack(stack: Site, report: Report) -> None:
    started = time.monotonic()
    port = free_port()
    front = stack.serve("--roles", "api,gateway=2")
    back = stack.start("serve", "--port", str(port), "--roles", "worker=3")
    seed = seeded(report)
    async with passage(stack, seed) as flow:
        beside = Api(flow.api.session, f"http://127.0.0.1:{port}", {})
        await beside.ready()
        two = Two(House(front, 2, flow.api), House(back, 3, beside))
        for house in two:
            await until(house.all_run, "all of them run")
        told = await flow.through(lambda: two.lose_some(random.Random(seed)))
        await until(two.reach_redis, "each process says that Redis is up")
        await _all_leave_the_database(stack)
        emptied = await two.total("history_bodies_pruned_total")
        texts = await _whole_history(flow)
        await flow.sandbox.clear_faults()
        took = await send(flow.api)
    report(f"kills {KILLS}; {told}; emptied {emptied:.0f}; then {took} ({time.monotonic() - started:.0f} s)")
    await check(told, stack)
    assert emptied > 0
    assert sorted(texts) == sorted(f"line {number}" for number in range(told.lines))
    assert took.sent < SOON, "a wake-up crosses from one house to the other"


async def _all_leave_the_database(here: Site) -> None:
    async with world_of(here) as world:
        (found,) = await world.ledger.conversations.at(OrgId(ORG), f"phone:+{CUSTOMER}")

        async def all_are_away() -> bool:
            entries = await world.ledger.conversations.entries(found.id, Position(MOST), MOST)
            return bool(entries) and all(entry.is_archived for entry in entries)

        await until(all_are_away, "every body is only in the history store")


async def _whole_history(flow: Passage) -> list[str]:
    texts, whole = await flow.history(await flow.conversation())
    assert whole, "it is read to its beginning"
    return texts

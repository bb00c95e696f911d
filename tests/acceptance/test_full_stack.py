"""PostgreSQL decides, Redis hints, Cassandra remembers: two gateways and three workers on all three, and kills."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest

from tests.acceptance.clients import clients
from tests.acceptance.conftest import Place, Report
from tests.acceptance.harness import Program, Site, until
from tests.acceptance.storm import Storm
from tests.acceptance.test_kill_nine import QUIET, conclude, seeded

PROCESSES = ("--roles", "api,gateway=2", "--roles", "worker=3")


@pytest.fixture
def stack(place: Place) -> Site:
    here = place("stack")
    here.settings |= QUIET
    here.connect()
    return here


async def test_sending_with_kills_on_the_full_stack(stack: Site, report: Report) -> None:
    started = time.monotonic()
    running = stack.serve(*PROCESSES)
    async with clients(stack) as (api, sandbox):
        await api.ready()
        await until(lambda: _all_run(running), "all five run")
        dice = random.Random(seeded(report))

        async def kill_one() -> None:
            os.kill(dice.choice(running.children()), signal.SIGKILL)
            await until(lambda: _all_run(running), "the killed one is replaced")

        storm = Storm(api, sandbox, kill_one, dice.randrange(2**32), messages=600, strikes=5)
        conclude(await storm.rage(), started, report, stack)


async def _all_run(running: Program) -> bool:
    return len(running.children()) == 5

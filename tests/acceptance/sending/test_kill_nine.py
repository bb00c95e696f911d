"""kill -9 at random moments, under load and faults: nothing lost, nothing doubled, nothing out of order."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from pathlib import Path

from tests.acceptance.conftest import FAST, Report
from tests.acceptance.stage.clients import clients
from tests.acceptance.stage.harness import Program, Site, alive, site, until
from tests.acceptance.stage.storm import Storm, Verdict
from tests.recording import check_and_record
from waypost_testing.services.processes import Postgres, ShutdownMode

QUIET = {"WAYPOST_LOG_LEVEL": "warning"}
SIZE = float(os.environ.get("WAYPOST_TEST_STORM") or 0.15)
"""Of the storms: 1 is 5,000 messages and 22 kills of the whole server, on each kind of Ledger."""


def sized(count: int) -> int:
    return max(1, round(count * SIZE))


def seeded(report: Report) -> int:
    seed = int(os.environ.get("WAYPOST_TEST_SEED") or random.randrange(2**32))
    report(f"seed {seed}")
    return seed


def conclude(verdict: Verdict, started: float, report: Report, here: Site) -> None:
    report(f"{verdict} ({time.monotonic() - started:.0f} s)")
    check_and_record(verdict, here.footprint, verdict.strikes)
    logs = here.logs()
    assert "Traceback" not in logs, logs[logs.index("Traceback") - 300 :][:3000]
    assert not [secret for secret in (here.token, here.app_secret, here.verify_token, here.api_key) if secret in logs]


async def test_a_server_that_is_killed_again_and_again_loses_doubles_and_reorders_nothing(
    here: Site, report: Report
) -> None:
    started = time.monotonic()
    here.settings |= QUIET
    here.connect()
    running = here.serve()
    async with clients(here) as (api, sandbox):
        await api.ready()

        async def kill_and_restart() -> None:
            nonlocal running
            running.kill()
            running = here.serve()
            await api.ready()

        storm = Storm(api, sandbox, kill_and_restart, seeded(report), messages=sized(5000), strikes=sized(22))
        conclude(await storm.rage(), started, report, here)


async def test_a_killed_worker_is_replaced_and_nothing_is_lost_doubled_or_reordered(here: Site, report: Report) -> None:
    started = time.monotonic()
    here.settings |= QUIET
    here.connect()
    running = here.serve("--workers", "2")
    async with clients(here) as (api, sandbox):
        await api.ready()
        await until(lambda: as_many(running), "both workers run")
        dice = random.Random(seeded(report))

        async def kill_one() -> None:
            victim = dice.choice(running.children())
            os.kill(victim, signal.SIGKILL)
            await until(lambda: replaced(running, victim), "the killed child is replaced")

        storm = Storm(api, sandbox, kill_one, dice.randrange(2**32), messages=sized(3000), strikes=sized(20))
        conclude(await storm.rage(), started, report, here)


async def replaced(running: Program, victim: int) -> bool:
    return not alive(victim) and await as_many(running)


async def as_many(running: Program) -> bool:
    return len(running.children()) == 2


async def test_a_postgresql_that_restarts_in_the_middle_loses_doubles_and_reorders_nothing(
    own_postgres: Postgres, beside: dict[str, str], tmp_path: Path, report: Report
) -> None:
    started = time.monotonic()
    with site(tmp_path, own_postgres.create_database(), **FAST | QUIET | beside) as here:
        here.connect()
        here.serve()
        async with clients(here) as (api, sandbox):
            await api.ready()
            dice = random.Random(seeded(report))
            endings: list[ShutdownMode] = ["fast", "immediate"]

            async def restart_database() -> None:
                await asyncio.to_thread(own_postgres.restart, dice.choice(endings))
                await api.ready()

            seed = dice.randrange(2**32)
            storm = Storm(api, sandbox, restart_database, seed, messages=sized(2000), strikes=sized(10))
            conclude(await storm.rage(), started, report, here)

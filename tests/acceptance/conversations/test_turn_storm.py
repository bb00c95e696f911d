"""Fifty customers write in bursts while workers are killed and frozen: their phones show each line answered once."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from contextlib import suppress
from dataclasses import dataclass

from tests.acceptance.conftest import Report
from tests.acceptance.process.test_workers import all_up, listening
from tests.acceptance.sending.test_kill_nine import seeded
from tests.acceptance.stage.clients import Api, Sandbox, clients
from tests.acceptance.stage.harness import Program, Site, until
from tests.acceptance.stage.talking import Customer, Notes, Verdict, answers, front_door, think
from tests.recording import check_and_record

CUSTOMERS, BURSTS, WORKERS, STRIKES = 30, 2, 4, 8
SHORT = {
    "WAYPOST_TURN_QUIET_SEC": "0.3",
    "WAYPOST_TURN_LEASE_SEC": "2",
    "THINKING_SEC": "1",
}
LONGEST_STOP = 3.0
"""Seconds: longer than the lease, shorter than what the supervisor takes for a hang."""


@dataclass
class Striker:
    running: Program
    dice: random.Random
    kills: int = 0
    stops: int = 0

    async def strike(self, times: int) -> None:
        for _ in range(times):
            await asyncio.sleep(self.dice.uniform(0.1, 1))  # the moment is drawn, not waited for
            await until(self._some, "there is somebody to strike")
            with suppress(ProcessLookupError):
                victim = self.dice.choice(sorted(listening(self.running)))
                await (self._kill(victim) if self.dice.random() < 0.5 else self._stop(victim))

    async def _some(self) -> bool:
        return len(listening(self.running)) > 1

    async def _kill(self, victim: int) -> None:
        os.kill(victim, signal.SIGKILL)
        self.kills += 1

    async def _stop(self, victim: int) -> None:
        """It wakes up with what it had in mind, and may have lost it meanwhile."""
        os.kill(victim, signal.SIGSTOP)
        self.stops += 1
        await asyncio.sleep(self.dice.uniform(0.2, LONGEST_STOP))
        os.kill(victim, signal.SIGCONT)


async def test_each_burst_is_answered_once_in_order_while_workers_are_killed_and_frozen(
    here: Site, report: Report
) -> None:
    started = time.monotonic()
    dice = random.Random(seeded(report))
    here.settings |= SHORT
    think(here)
    async with front_door(here, dice) as (door, address):
        here.connect(address)
        running = here.serve("--workers", str(WORKERS))
        async with clients(here, reuse=False) as (api, sandbox):
            await all_up(running, WORKERS)
            customers = [Customer(f"1555300{n:04}", sandbox, random.Random(dice.random())) for n in range(CUSTOMERS)]
            striker = Striker(running, dice)
            await asyncio.gather(striker.strike(STRIKES), *(customer.write(BURSTS) for customer in customers))
            verdict = await concluded(customers, api, sandbox)
    starts, ends = Notes(here.folder).all("start"), Notes(here.folder).all("end")
    report(
        f"kills {striker.kills}, stops {striker.stops}, {verdict}, bot asked {len(starts)}, ended {len(ends)}, "
        f"webhooks posted again {door.again} ({time.monotonic() - started:.0f} s)"
    )
    check_and_record(verdict, here.footprint, striker.kills + striker.stops)
    logs = here.logs()
    assert "Traceback" not in logs, logs[logs.index("Traceback") - 300 :][:3000]


async def concluded(customers: list[Customer], api: Api, sandbox: Sandbox) -> Verdict:
    """When every line is answered, or nothing moves any more."""

    async def screens() -> dict[str, list[str]]:
        return {customer.phone: await answers(sandbox, customer.phone) for customer in customers}

    async def answered_and_at_rest() -> bool:
        shown = await screens()
        lines = {line for screen in shown.values() for text in screen for line in text.split("\n")}
        if not lines.issuperset(line for customer in customers for line in customer.lines):
            return False
        return not [message for status in ("QUEUED", "SENDING") for message in await api.with_status(status)]

    with suppress(AssertionError):  # the verdict says what is missing
        await until(answered_and_at_rest, "every line is answered and nothing is under way", within=60)
    return Verdict(customers, await screens())

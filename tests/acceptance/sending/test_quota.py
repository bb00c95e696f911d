"""The quota with four real processes: never above it, and exactly it when nothing is in doubt."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from typing import Any

from tests.acceptance.conftest import Report
from tests.acceptance.stage.clients import OUTAGE, Api, Sandbox, clients
from tests.acceptance.stage.harness import Program, Site, alive, until

LIMIT, MESSAGES, CALLERS, PROCESSES = 200, 800, 32, 4
RULES = {
    "WAYPOST_OUTBOUND_QUOTA": str(LIMIT),
    "WAYPOST_OUTBOUND_PACE": "1000",
    "WAYPOST_OUTBOUND_WINDOW": "ignore",
    "WAYPOST_LOG_LEVEL": "warning",
}
QUIET = 2.0
"""Seconds without another call: by then whoever could send has sent."""


async def post_all(api: Api) -> None:
    numbers = iter(range(MESSAGES))

    async def caller() -> None:
        for number in numbers:
            wish: dict[str, object] = {
                "to": f"+1555200{number:06}",
                "payloadJson": {"text": "hello"},
                "idempotencyKey": f"key-{number}",
            }
            while not await taken(api, wish):  # noqa: ASYNC110  # nobody tells when the server is back
                await asyncio.sleep(0.05)

    await asyncio.gather(*(caller() for _ in range(CALLERS)))


async def taken(api: Api, wish: dict[str, Any]) -> bool:
    try:
        return (await api.post(wish)).status in (200, 201)
    except OUTAGE:
        return False


async def accepted(sandbox: Sandbox) -> int:
    return len([call for call in await sandbox.calls() if call["wamid"]])


async def come_to_rest(sandbox: Sandbox) -> int:
    """How many were accepted when no call has come for a while."""
    seen, since = -1, time.monotonic()
    while time.monotonic() - since < QUIET:
        calls = len(await sandbox.calls())
        if calls != seen:
            seen, since = calls, time.monotonic()
        await asyncio.sleep(0.1)
    return await accepted(sandbox)


async def started(here: Site, api: Api) -> Program:
    running = here.serve("--workers", str(PROCESSES))
    await api.ready()
    await until(lambda: complete(running), f"{PROCESSES} processes run")
    return running


async def complete(running: Program) -> bool:
    return len(running.children()) == PROCESSES


async def test_four_processes_send_exactly_the_quota(here: Site, report: Report) -> None:
    """Though every tenth call is refused: what provably did not happen is given back."""
    began = time.monotonic()
    here.settings |= RULES
    here.connect()
    async with clients(here) as (api, sandbox):
        await started(here, api)
        await sandbox.fault(probability=0.1, error_code=131016)
        await post_all(api)

        async def enough() -> bool:
            return await accepted(sandbox) >= LIMIT

        await until(enough, f"{LIMIT} were accepted")
        assert await come_to_rest(sandbox) == LIMIT
        assert len(await api.with_status("QUEUED")) == MESSAGES - LIMIT
        report(f"{MESSAGES} messages, {PROCESSES} processes: {LIMIT} accepted ({time.monotonic() - began:.0f} s)")


async def test_four_processes_never_exceed_the_quota_whoever_is_killed(here: Site, report: Report) -> None:
    """What a killed process had drawn stays drawn: it may have been sent."""
    began, dice = time.monotonic(), random.Random(4)
    here.settings |= RULES
    here.connect()
    async with clients(here) as (api, sandbox):
        running = await started(here, api)
        await sandbox.fault(probability=0.05, drop_response=True)
        posting = asyncio.ensure_future(post_all(api))
        kills = 0
        while not posting.done() and kills < 4:
            await asyncio.sleep(0.3)
            victim = dice.choice(running.children())
            os.kill(victim, signal.SIGKILL)
            kills += 1

            async def replaced(gone: int = victim) -> bool:
                return not alive(gone) and await complete(running)

            await until(replaced, "the killed process is replaced")
        await posting
        found = await come_to_rest(sandbox)
        assert 0 < found <= LIMIT
        report(f"{MESSAGES} messages, {kills} kills: {found} of {LIMIT} accepted ({time.monotonic() - began:.0f} s)")

"""One of two processes stands still with messages in its hands, and then goes on as if nothing had been."""

from __future__ import annotations

import asyncio
import os
import signal
import time

from tests.acceptance.conftest import Place, Report
from tests.acceptance.sending.test_kill_nine import QUIET, seeded
from tests.acceptance.stage.clients import Api
from tests.acceptance.stage.harness import free_port, until
from tests.acceptance.stage.inside import connect
from tests.acceptance.stage.passage import check, passage

PAUSE = float(os.environ.get("WAYPOST_TEST_PAUSE_SEC") or 4)
"""Seconds; longer than a transaction may be left open. 30 is what a machine that swaps takes."""


async def test_a_process_is_paused(place: Place, report: Report) -> None:
    here = place("postgres")
    here.settings |= QUIET
    await connect(here)
    other = free_port()
    here.serve()
    paused = here.start("serve", "--port", str(other))
    async with passage(here, seeded(report)) as flow:
        beside = Api(flow.api.session, f"http://127.0.0.1:{other}", flow.api.headers)
        await beside.ready()

        async def stand_still() -> None:
            await until(lambda: has_sent(beside), "the one to be paused sends, too")
            paused.signal(signal.SIGSTOP)
            assert not await answers_within(beside, PAUSE / 2)
            await asyncio.sleep(PAUSE / 2)
            paused.signal(signal.SIGCONT)

        told = await flow.through(stand_still)
        since = time.monotonic()
        await beside.ready()
        took, taken = time.monotonic() - since, await beside.figure("outbound_message_send_success_total")
    report(f"{told}; the paused one answered {took:.2f} s later and had sent {taken:.0f}")
    await check(told, here)
    assert not told.refused, "the other one goes on"


async def has_sent(api: Api) -> bool:
    return await api.figure("outbound_message_send_success_total") > 0


async def answers_within(api: Api, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await api.answers()
    except TimeoutError:
        return False

"""One of two processes stands still with messages in its hands, and then goes on as if nothing had been."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from functools import partial

import pytest

from tests.acceptance.conftest import Place, Report
from tests.acceptance.sending.test_kill_nine import QUIET, seeded
from tests.acceptance.stage.clients import Api
from tests.acceptance.stage.harness import free_port, until
from tests.acceptance.stage.inside import connect
from tests.acceptance.stage.passage import check, passage
from tests.acceptance.stage.storm import REPORTED

PAUSE = float(os.environ.get("WAYPOST_TEST_PAUSE_SEC") or 4)
"""Seconds; longer than a transaction may be left open. 30 is what a machine that swaps takes."""

TAKEN_OVER = "outbound_message_unsure_total"
SENT = "outbound_message_send_success_total"
STALE, STRIKES = 5.0, int(os.environ.get("WAYPOST_TEST_STRIKES") or 0)
"""Seconds; and how often it is stopped. By default never: each time takes half a minute."""
FEWEST = 3
"""Messages taken over, of which a third may have left late."""
UNTIL_TAKEN_OVER = STALE * 4
"""Seconds: the stopped process is forgotten as a listener, then the limit passes, and the count of it lags a little."""


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
        took, taken = time.monotonic() - since, await beside.figure(SENT)
    report(f"{told}; the paused one answered {took:.2f} s later and had sent {taken:.0f}")
    await check(told, here)
    assert not told.refused, "the other one goes on"


@pytest.mark.skipif(not STRIKES, reason="WAYPOST_TEST_STRIKES says how often a process is stopped; try 6")
async def test_a_process_that_stood_still_beyond_the_stale_limit_gives_its_claims_back(
    place: Place, report: Report
) -> None:
    """What it had claimed is taken over and sent by the other one; the provider answers and reports every call.

    More is posted than the number's pace allows, so that each process always holds claims that wait for their start.
    What the HTTP client had at the moment of the stop, but not yet sent, is sent late (decision 21): one call in thirty
    stops. So a few doubles prove nothing. Without the age of a claim, every message that was taken over is doubled.
    """
    here = place("postgres")
    here.settings |= QUIET | {"WAYPOST_OUTBOUND_STALE_MINUTES": str(STALE / 60), "WAYPOST_OUTBOUND_PACE": "80"}
    await connect(here)
    other = free_port()
    here.serve()
    paused = here.start("serve", "--port", str(other))
    async with passage(here, seeded(report), faults=[{"to": REPORTED, "status_error": 131026}]) as flow:
        beside = Api(flow.api.session, f"http://127.0.0.1:{other}", flow.api.headers)
        await beside.ready()

        async def stand_still() -> None:
            for _ in range(STRIKES):
                sent = await beside.figure(SENT)
                await until(partial(has_sent, beside, sent), "the one to be paused sends, too")
                paused.signal(signal.SIGSTOP)
                await asyncio.sleep(UNTIL_TAKEN_OVER)
                paused.signal(signal.SIGCONT)
                await beside.ready()

        told = await flow.through(stand_still)
        taken = await flow.api.figure(TAKEN_OVER)
    doubled = told.verdict.doubled
    report(f"{told}; taken over: {taken:.0f}; of these left late: {doubled}")
    if not doubled:
        await check(told, here)
    if taken < FEWEST:
        pytest.skip(f"it held {taken:.0f} claims when it was stopped, too few to show anything: stop it more often")
    assert len(doubled) * 3 <= taken, doubled


async def has_sent(api: Api, before: float = 0) -> bool:
    return await api.figure(SENT) > before


async def answers_within(api: Api, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await api.answers()
    except TimeoutError:
        return False

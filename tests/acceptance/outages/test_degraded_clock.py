"""A server's clock is wrong by an hour for a while, by libfaketime: the server runs as it is, and sees another time."""

from __future__ import annotations

import asyncio
import os
import re
import time
from datetime import datetime
from pathlib import Path

import pytest

from tests.acceptance.conftest import FAST, Place, Report
from tests.acceptance.sending.test_kill_nine import QUIET, seeded
from tests.acceptance.stage.clients import Api, clients
from tests.acceptance.stage.harness import site, until
from tests.acceptance.stage.inside import connect
from tests.acceptance.stage.passage import check, passage
from tests.acceptance.stage.storm import FAULTS
from tests.acceptance.stage.talking import say

WRONG_FOR = float(os.environ.get("WAYPOST_TEST_CLOCK_SEC") or 2)
LIBRARY = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)
DAY = 86_400
TRIED_AGAIN = ("error_code", "http_status")
"""Faults after which a message waits for a time: it is looked at by itself."""


class FakedClock:
    """What a process sees that was started with these settings."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.off_by(0)

    @property
    def settings(self) -> dict[str, str]:
        if LIBRARY is None:
            pytest.skip("libfaketime is not installed")
        return {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",  # seconds; without a cache every look at the time reads the file
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",  # else waiting for Python's lock spins
        }

    def off_by(self, seconds: int) -> None:
        fresh = self._file.with_suffix(".new")
        fresh.write_text(f"{seconds:+d}")
        fresh.rename(self._file)


AN_HOUR = pytest.mark.parametrize("off_by", [3600, -3600], ids=["ahead", "behind"])
WROTE, WROTE_LONG_AGO = "15557000011", "15557000012"
HALF_AN_HOUR = 1800
MEASURED_WITHIN = 5
"""Seconds by which a slow answer may make the measurement of a clock wrong."""


@AN_HOUR
async def test_the_window_is_judged_by_the_databases_clock(off_by: int, tmp_path: Path, place: Place) -> None:
    """One customer wrote 23.5 hours ago, the other 24.5 hours ago."""
    clock, here = FakedClock(tmp_path), place("postgres")
    here.settings |= QUIET | {"WAYPOST_OUTBOUND_WINDOW": "enforce"}
    await connect(here)
    clock.off_by(off_by)
    here.serve(**clock.settings)
    async with clients(here) as (api, sandbox):
        await api.ready()
        for phone, ago in ((WROTE, DAY - HALF_AN_HOUR), (WROTE_LONG_AGO, DAY + HALF_AN_HOUR)):
            text = {"type": "text", "text": {"body": "hello"}, "timestamp": str(round(time.time()) - ago)}
            await say(sandbox, phone, message=text)
        allowed, late = [await posted(api, phone) for phone in (WROTE, WROTE_LONG_AGO)]
        assert (await api.settled(allowed))["errorCode"] is None
        assert (await api.settled(late, "FAILED"))["errorCode"] == "SESSION_EXPIRED"
        (warning,) = (await api.get("/readyz"))["warnings"]
        told = re.search(r"([\d.]+) s (ahead of|behind)", warning)
        assert told is not None, warning
        assert float(told[1]) == pytest.approx(abs(off_by), abs=MEASURED_WITHIN)
        assert told[2] == ("ahead of" if off_by > 0 else "behind")
        assert await api.figure("waypost_clock_offset_seconds") == pytest.approx(off_by, abs=MEASURED_WITHIN)


async def test_a_clock_that_is_a_day_ahead_begins_no_new_quota(tmp_path: Path, place: Place) -> None:
    clock, here = FakedClock(tmp_path), place("postgres")
    here.settings |= QUIET | {"WAYPOST_OUTBOUND_QUOTA": "1"}
    await connect(here)
    here.serve(**clock.settings)
    async with clients(here) as (api, sandbox):
        await api.ready()
        await api.settled(await posted(api, WROTE))
        clock.off_by(25 * 3600)
        await until(lambda: is_off(api), "the server's clock is a day ahead")
        second = await posted(api, WROTE_LONG_AGO)

        async def waits() -> bool:
            view = await api.message(second)
            assert view["status"] == "QUEUED"
            return bool(view["deferredBy"] == "quota")

        await until(waits, "it waits for the quota")
        assert len(await sandbox.calls()) == 1


async def is_off(api: Api) -> bool:
    return await api.figure("waypost_clock_offset_seconds") > DAY


async def posted(api: Api, phone: str) -> int:
    answer = await api.post({"to": f"+{phone}", "payloadJson": {"text": "hello"}})
    assert answer.status == 201, answer
    return int(answer.body["id"])


@AN_HOUR
async def test_a_clock_is_wrong_by_an_hour(off_by: int, tmp_path: Path, report: Report) -> None:
    clock = FakedClock(tmp_path)
    with site(tmp_path, f"sqlite:///{tmp_path / 'waypost.db'}", **FAST | QUIET) as here:
        await connect(here)
        here.serve(**clock.settings)
        faults = [fault for fault in FAULTS if not fault.keys() & set(TRIED_AGAIN)]
        async with passage(here, seeded(report), faults=faults) as flow:

            async def go_wrong() -> None:
                clock.off_by(off_by)
                await asyncio.sleep(WRONG_FOR)
                clock.off_by(0)

            told = await flow.through(go_wrong)
        report(str(told))
        await check(told, here)
        assert not told.refused
        created = sorted(datetime.fromisoformat(view["createdAt"]) for view in told.verdict.views)
        assert 3500 < (created[-1] - created[0]).total_seconds() < 3700, "the server saw another time"

"""A server's clock is wrong by an hour for a while, by libfaketime: the server runs as it is, and sees another time."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime
from pathlib import Path

import pytest

from tests.acceptance.conftest import FAST, Report
from tests.acceptance.sending.test_kill_nine import QUIET, seeded
from tests.acceptance.stage.harness import site
from tests.acceptance.stage.inside import connect
from tests.acceptance.stage.passage import check, passage
from tests.acceptance.stage.storm import FAULTS

WRONG_FOR = float(os.environ.get("WAYPOST_TEST_CLOCK_SEC") or 2)
LIBRARY = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)
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


@pytest.mark.parametrize("off_by", [3600, -3600], ids=["ahead", "behind"])
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

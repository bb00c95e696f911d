"""The disk runs full under a flow of messages: callers are told so, nothing is half written, and freed space is enough."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.acceptance.conftest import FAST, Report
from tests.acceptance.disks import SmallDisk, small_disk
from tests.acceptance.harness import site, until
from tests.acceptance.inside import connect
from tests.acceptance.passage import Passage, check, passage
from tests.acceptance.test_kill_nine import QUIET, seeded

FULL = "503 storage_full, Retry-After 10"


async def run_full(disk: SmallDisk, flow: Passage) -> None:
    """Until callers have been told; then for a second more."""
    await asyncio.to_thread(disk.fill)

    async def told() -> bool:
        return any(str(seen) == FULL for seen in flow.api.seen)

    await until(told, "callers are told that the disk is full")
    assert (await flow.api.ask("GET", "/api/v1/outbound/messages?limit=1")).status == 200, "reading goes on"
    await asyncio.sleep(1)
    await asyncio.to_thread(disk.free)


async def test_the_disk_of_sqlite_is_full(tmp_path: Path, report: Report) -> None:
    with small_disk(24) as disk:
        url = f"sqlite:///{disk.folder / 'waypost.db'}"
        with site(tmp_path, url, **FAST | QUIET, TMPDIR=str(disk.folder)) as here:
            await connect(here)
            here.serve("--workers", "2")
            async with passage(here, seeded(report)) as flow:
                told = await flow.through(lambda: run_full(disk, flow))
                failures = await flow.api.figure('ledger_failure_total{reason="full"}')
            report(f"{told}; ledger_failure_total {failures:.0f}")
            await check(told, here)
            assert told.refusals == {FULL}
            assert failures > 0

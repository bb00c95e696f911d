"""The disk runs full under a flow of messages: callers are told, nothing is half written, freed space is enough."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.conftest import FAST, Report
from tests.acceptance.sending.test_kill_nine import QUIET, seeded
from tests.acceptance.stage.disks import SmallDisk, small_disk
from tests.acceptance.stage.harness import site, until
from tests.acceptance.stage.inside import connect
from tests.acceptance.stage.passage import Passage, check, passage
from waypost_testing.services.processes import Postgres, ServiceFailed, ServiceMissing

FULL = "503 storage_full, Retry-After 10"


async def run_full(disk: SmallDisk, flow: Passage) -> None:
    """Until callers have been told; then for a second more."""
    await asyncio.to_thread(disk.fill)

    async def full_disk_seen() -> bool:
        return any(str(seen) == FULL for seen in flow.api.seen)

    await until(full_disk_seen, "callers are told that the disk is full")
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


SMALL = {"max_wal_size": "64MB", "min_wal_size": "32MB", "autovacuum": "off"}


@contextmanager
def postgres_on_a_small_disk() -> Iterator[tuple[Postgres, SmallDisk]]:
    """Tables and log on the same one."""
    try:
        with small_disk(200) as disk, Postgres(SMALL, disk.folder) as server:
            yield server, disk
    except ServiceMissing as missing:
        pytest.skip(str(missing))


async def test_the_disk_of_postgresql_is_full(beside: dict[str, str], tmp_path: Path, report: Report) -> None:
    with (
        postgres_on_a_small_disk() as (server, disk),
        site(tmp_path, server.create_database(), **FAST | QUIET | beside) as here,
    ):
        await connect(here)
        here.serve()
        async with passage(here, seeded(report)) as flow:
            told = await flow.through(lambda: run_full(disk, flow))
            failures = await flow.api.figure('ledger_failure_total{reason="full"}')
        report(f"{told}; ledger_failure_total {failures:.0f}")
        await check(told, here)
        assert told.refusals == {FULL}
        assert failures > 0


async def test_postgresql_stops_because_its_log_has_no_room(
    beside: dict[str, str], tmp_path: Path, report: Report
) -> None:
    with (
        postgres_on_a_small_disk() as (server, disk),
        site(tmp_path, server.create_database(), **FAST | QUIET | beside) as here,
    ):
        await connect(here)
        here.serve()
        async with passage(here, seeded(report)) as flow:

            async def run_out_of_log() -> None:
                await asyncio.to_thread(disk.fill)
                await asyncio.to_thread(use_up_the_log, server)
                await asyncio.to_thread(disk.free)
                await asyncio.to_thread(server.restart)

            told = await flow.through(run_out_of_log)
        report(str(told))
        await check(told, here)
        assert told.refusals <= {FULL, "503 unavailable, Retry-After 1"}
        assert "503 unavailable, Retry-After 1" in told.refusals


WHOLE_LOG = "SELECT pg_logical_emit_message(false, 'fill', repeat('x', 1000000)) FROM generate_series(1, 200)"


def use_up_the_log(server: Postgres) -> None:
    """It stops itself: it would rather end than acknowledge what it cannot keep."""
    with pytest.raises(ServiceFailed, match=r"PANIC|closed the connection"):
        server.command(WHOLE_LOG)

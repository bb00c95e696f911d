"""PostgreSQL goes away under a flow of messages: callers are told to come back, and nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.acceptance.conftest import FAST, Report
from tests.acceptance.harness import site
from tests.acceptance.passage import check, passage
from tests.acceptance.test_kill_nine import QUIET, seeded
from waypost.testing.services import Postgres


async def test_postgresql_is_restarted(own_postgres: Postgres, tmp_path: Path, report: Report) -> None:
    with site(tmp_path, own_postgres.create_database(), **FAST | QUIET) as here:
        here.connect()
        here.serve()
        async with passage(here, seeded(report)) as flow:

            async def restart() -> None:
                await asyncio.to_thread(own_postgres.stop)
                await asyncio.sleep(1)  # how long it is away
                await asyncio.to_thread(own_postgres.start)

            told = await flow.through(restart)
            failures = await flow.api.figure("ledger_failure_total")
        report(f"{told}; ledger_failure_total {failures:.0f}")
        check(told, here)
        assert told.refusals == {"503 unavailable, Retry-After 1"}
        assert failures > 0

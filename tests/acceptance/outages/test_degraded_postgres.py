"""PostgreSQL goes away under a flow of messages: callers are told to come back, and nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.acceptance.conftest import FAST, Report
from tests.acceptance.sending.test_kill_nine import QUIET, seeded
from tests.acceptance.stage.harness import site
from tests.acceptance.stage.inside import connect
from tests.acceptance.stage.passage import check, passage
from waypost_testing.services.processes import Postgres
from waypost_testing.services.standby import Standby


async def test_postgresql_is_restarted(
    own_postgres: Postgres, beside: dict[str, str], tmp_path: Path, report: Report
) -> None:
    with site(tmp_path, own_postgres.create_database(), **FAST | QUIET | beside) as here:
        await connect(here)
        here.serve()
        async with passage(here, seeded(report)) as flow:

            async def restart() -> None:
                await asyncio.to_thread(own_postgres.stop)
                await asyncio.sleep(1)  # how long it is away
                await asyncio.to_thread(own_postgres.start)

            told = await flow.through(restart)
            failures = await flow.api.figure("ledger_failure_total")
        report(f"{told}; ledger_failure_total {failures:.0f}")
        await check(told, here)
        assert told.refusals == {"503 unavailable, Retry-After 1"}
        assert failures > 0


async def test_postgresql_fails_over_to_a_promoted_standby(
    own_postgres: Postgres, beside: dict[str, str], tmp_path: Path, report: Report
) -> None:
    settings = FAST | QUIET | beside
    database = own_postgres.create_database()
    with Standby(own_postgres) as standby, site(tmp_path, standby.url_of_either(database), **settings) as here:
        standby.keep_in_step()
        await connect(here)
        here.serve()
        async with passage(here, seeded(report)) as flow:

            async def fail_over() -> None:
                await asyncio.to_thread(own_postgres.kill)
                await asyncio.sleep(1)  # until somebody decides
                await asyncio.to_thread(standby.promote)

            told = await flow.through(fail_over)
            failures = await flow.api.figure("ledger_failure_total")
        report(f"{told}; ledger_failure_total {failures:.0f}")
        await check(told, here)
        assert told.refusals == {"503 unavailable, Retry-After 1"}
        assert failures > 0

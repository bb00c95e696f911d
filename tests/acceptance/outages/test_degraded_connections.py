"""PostgreSQL's connections are used up, and one of two processes has none: it gets one, and nothing is lost."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import asyncpg
import pytest

from tests.acceptance.conftest import FAST, Report
from tests.acceptance.sending.test_kill_nine import seeded
from tests.acceptance.stage.harness import Program, Site, free_port, site, until
from tests.acceptance.stage.inside import connect
from tests.acceptance.stage.passage import check, passage
from tests.started import or_skip
from waypost_testing.services.processes import Postgres

Taken: TypeAlias = "list[asyncpg.Connection[asyncpg.Record]]"


@pytest.fixture
def small_postgres() -> Iterator[Postgres]:
    """Room for the connections of one process, and some more; two roles, so that each process has its own."""
    with or_skip(Postgres({"max_connections": "20"})) as server:
        server.command("CREATE ROLE first LOGIN; CREATE ROLE second LOGIN; GRANT first TO second")
        yield server


async def ready(port: int) -> bool:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
    except OSError:
        return False
    return answer.startswith(b"HTTP/1.1 200")


async def starve(server: Postgres, url: str, process: Program) -> Taken:
    """The process loses its connections while it stands still, and others take every free one."""
    process.signal(signal.SIGSTOP)
    lost = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = 'second'"
    await asyncio.to_thread(server.command, lost)
    taken: Taken = []
    while True:
        try:
            taken.append(await asyncpg.connect(url))
        except asyncpg.TooManyConnectionsError:
            break
    process.signal(signal.SIGCONT)
    return taken


async def test_a_process_that_lost_all_its_connections_gets_one_again(
    small_postgres: Postgres, tmp_path: Path, report: Report
) -> None:
    superuser = small_postgres.create_database()
    small_postgres.command(f'ALTER DATABASE "{superuser.rpartition("/")[2]}" OWNER TO first')
    url = superuser.replace("//postgres@", "//first@")
    with site(tmp_path, url, **FAST, WAYPOST_DATABASE_READERS="2") as here:
        await connect(here)
        here.serve()
        port, second = free_port(), url.replace("//first@", "//second@")
        poor = here.start("serve", "--port", str(port), WAYPOST_DATABASE_URL=second)
        await until(lambda: ready(port), "the second process is ready")
        async with passage(here, seeded(report)) as flow:

            async def trouble() -> None:
                taken = await starve(small_postgres, url, poor)
                await until(lambda: logged(here, "ledger_lost"), "the second process has no connection")
                await until(lambda: ready(port), "the second process has a connection again")
                await until(lambda: logged(here, "ledger_is_back"), "it says so")
                for each in taken:
                    await each.close()

            told = await flow.through(trouble)
        report(str(told))
        await check(told, here)
        assert "postgres_connections_used_up" in here.logs()


async def logged(here: Site, event: str) -> bool:
    return event in here.logs()

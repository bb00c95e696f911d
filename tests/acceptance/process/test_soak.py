"""Steady load on one server: neither its memory, nor its answers, nor its rows per message grow with time."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import statistics
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from tests.acceptance.conftest import Report
from tests.acceptance.stage.clients import Api, clients
from tests.acceptance.stage.harness import Program, Site, until
from tests.acceptance.stage.recording import record

SECONDS = float(os.environ.get("WAYPOST_TEST_SOAK_SEC") or 6)
"""A few are enough to see that it works; what grows is seen after minutes: `make proof`."""
LONG = 60.0
"""Seconds from which on a trend is one, and not the warming up."""
RATE = 20
"""Messages per second."""
MOST_GROWTH = 1.15
SLACK_MB = 12.0
SLOWER = 3.0
SLACK_MS = 50.0
TABLES = ("delivery", "report", "journal")


@dataclass
class Soak:
    api: Api
    running: Program
    memory: list[float] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    posted: int = 0

    async def load(self, until_then: float) -> None:
        while time.monotonic() < until_then:
            asked = time.monotonic()
            answer = await self.api.post({"to": f"+1555200{self.posted % 500:06}", "payloadJson": text(self.posted)})
            assert answer.status == 201, answer
            self.latency.append(1000 * (time.monotonic() - asked))
            self.posted += 1
            await asyncio.sleep(max(0.0, asked + 1 / RATE - time.monotonic()))  # the load is steady

    async def look(self, until_then: float) -> None:
        while time.monotonic() < until_then:
            self.memory.append(resident(self.running.pid))
            self.waiting.append(len(await self.api.with_status("QUEUED")))
            await asyncio.sleep(min(5.0, SECONDS / 12))

    def check(self) -> None:
        """The last third beside the second one: the first warms up."""
        if SECONDS < LONG:
            return
        (_, memory, grown), (_, latency, later) = thirds(self.memory), thirds(self.latency)
        assert grown <= memory * MOST_GROWTH + SLACK_MB, f"memory: {memory:.0f} MB, then {grown:.0f} MB"
        assert later <= latency * SLOWER + SLACK_MS, f"latency: {latency:.0f} ms, then {later:.0f} ms"
        assert max(self.waiting) < 10 * RATE, f"{max(self.waiting)} messages waited"


def text(number: int) -> dict[str, object]:
    return {"type": "text", "text": {"body": f"message {number}"}}


def thirds(values: list[float]) -> list[float]:
    third = max(1, len(values) // 3)
    return [statistics.median(values[start : start + third]) for start in (0, third, len(values) - third)]


def resident(pid: int) -> float:
    """Megabytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 1e6


async def rows(here: Site) -> dict[str, int]:
    counts = {table: f"SELECT count(*) FROM {table}" for table in TABLES}
    if here.footprint == "sqlite":
        with closing(sqlite3.connect(here.database_url.removeprefix("sqlite:///"))) as database:
            return {table: database.execute(count).fetchone()[0] for table, count in counts.items()}
    connection = await asyncpg.connect(here.database_url)
    try:
        return {table: await connection.fetchval(count) for table, count in counts.items()}
    finally:
        await connection.close()


async def test_nothing_grows_under_steady_load(here: Site, report: Report) -> None:
    here.settings |= {"WAYPOST_LOG_LEVEL": "warning"}
    here.connect()
    running = here.serve()
    async with clients(here) as (api, _):
        await api.ready()
        soak = Soak(api, running)
        half = time.monotonic() + SECONDS / 2
        await asyncio.gather(soak.load(half), soak.look(half))
        first, rows_first = soak.posted, await rows(here)
        await asyncio.gather(soak.load(half + SECONDS / 2), soak.look(half + SECONDS / 2))

        async def at_rest() -> bool:
            return not await api.on_the_way()

        await until(at_rest, "every message has come to its end")
        rows_last = await rows(here)
    figures = {"memory_mb": thirds(soak.memory), "latency_ms": thirds(soak.latency)}
    report(
        f"{soak.posted} messages in {SECONDS:.0f} s, thirds {figures}, rows {rows_first} at {first}, then {rows_last}"
    )
    record(footprint=here.footprint, messages=soak.posted, **figures, rows=rows_last)
    soak.check()
    for table in TABLES:
        assert rows_last[table] <= 1.5 * soak.posted * max(1, rows_first[table] / first) + 50, (table, rows_last)

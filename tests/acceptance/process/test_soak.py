"""Steady load on one server: neither memory, nor latency, nor rows, nor bytes of log per message grow with time."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from tests.acceptance.conftest import Report
from tests.acceptance.stage.clients import Api, clients
from tests.acceptance.stage.harness import Program, Site, until
from tests.recording import record

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
HOUR = 3600.0


@dataclass(frozen=True)
class Sample:
    """Where the server stood at one moment."""

    at: float
    posted: int
    memory_mb: float
    latency_ms: float
    """In the middle, since the sample before."""
    rows: int
    written: int
    """Bytes: of PostgreSQL's write-ahead log; on SQLite, what the process has written to its disk."""


@dataclass
class Soak:
    here: Site
    api: Api
    running: Program
    samples: list[Sample] = field(default_factory=list)
    waiting: int = 0
    posted: int = 0
    _latency: list[float] = field(default_factory=list)

    async def load(self, until_then: float) -> None:
        while time.monotonic() < until_then:
            asked = time.monotonic()
            answer = await self.api.post({"to": f"+1555200{self.posted % 500:06}", "payloadJson": text(self.posted)})
            assert answer.status == 201, answer
            self._latency.append(1000 * (time.monotonic() - asked))
            self.posted += 1
            await asyncio.sleep(max(0.0, asked + 1 / RATE - time.monotonic()))  # the load is steady

    async def look(self, until_then: float) -> None:
        while time.monotonic() < until_then:
            await asyncio.sleep(min(5.0, SECONDS / 12))
            await self.take_sample()
            self.waiting = max(self.waiting, len(await self.api.with_status("QUEUED")))

    async def take_sample(self) -> None:
        latency, self._latency = self._latency, []
        posted, (rows, written) = self.posted, await stored(self.here, self.running)
        memory, middle = resident(self.running.pid), statistics.median(latency or [0.0])
        self.samples.append(Sample(time.monotonic(), posted, memory, middle, rows, written))

    @property
    def steady(self) -> list[Sample]:
        """Without the first third, in which it warms up."""
        return self.samples[len(self.samples) // 3 :]

    def figures(self) -> dict[str, float]:
        """Slopes per hour, and what a message costs."""
        return {
            "memory_mb": self.steady[-1].memory_mb,
            "memory_mb_per_hour": per_hour(self.steady, lambda sample: sample.memory_mb),
            "latency_ms": statistics.median(sample.latency_ms for sample in self.steady),
            "latency_ms_per_hour": per_hour(self.steady, lambda sample: sample.latency_ms),
            "rows_per_message": per_message(self.steady, lambda sample: sample.rows),
            "wal_bytes_per_message": per_message(self.steady, lambda sample: sample.written),
        }

    def check(self) -> None:
        """The last third beside the second one."""
        if SECONDS < LONG:
            return
        second, last = halves(self.steady)
        grown, before = (statistics.median(s.memory_mb for s in part) for part in (last, second))
        assert grown <= before * MOST_GROWTH + SLACK_MB, f"memory: {before:.0f} MB, then {grown:.0f} MB"
        later, earlier = (statistics.median(s.latency_ms for s in part) for part in (last, second))
        assert later <= earlier * SLOWER + SLACK_MS, f"latency: {earlier:.0f} ms, then {later:.0f} ms"
        for name, of in COSTS.items():
            now, then = per_message(last, of), per_message(second, of)
            assert now <= 1.5 * then + 1, f"{name} per message: {then:.1f}, then {now:.1f}"
        assert self.waiting < 10 * RATE, f"{self.waiting} messages waited"


Of = Callable[[Sample], float]
COSTS: dict[str, Of] = {"rows": lambda sample: sample.rows, "bytes of log": lambda sample: sample.written}


def per_hour(samples: list[Sample], of: Of) -> float:
    return HOUR * statistics.linear_regression([s.at for s in samples], [of(s) for s in samples]).slope


def per_message(samples: list[Sample], of: Of) -> float:
    return statistics.linear_regression([s.posted for s in samples], [of(s) for s in samples]).slope


def halves(samples: list[Sample]) -> tuple[list[Sample], list[Sample]]:
    middle = len(samples) // 2
    return samples[:middle], samples[middle:]


def text(number: int) -> dict[str, object]:
    return {"type": "text", "text": {"body": f"message {number}"}}


def resident(pid: int) -> float:
    """Megabytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 1e6


def written_to_disk(pid: int) -> int:
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["write_bytes"])


async def stored(here: Site, running: Program) -> tuple[int, int]:
    """Rows, and bytes written ahead of them."""
    count = " + ".join(f"(SELECT count(*) FROM {table})" for table in TABLES)
    if here.footprint == "sqlite":
        with closing(sqlite3.connect(here.database_url.removeprefix("sqlite:///"))) as database:
            rows = database.execute(f"SELECT {count}").fetchone()[0]
        return rows, written_to_disk(running.pid)
    connection = await asyncpg.connect(here.database_url)
    try:
        found = await connection.fetchrow(f"SELECT {count}, (pg_current_wal_lsn() - '0/0')::bigint")
        return found[0], found[1]
    finally:
        await connection.close()


async def test_nothing_grows_under_steady_load(here: Site, report: Report) -> None:
    here.settings |= {"WAYPOST_LOG_LEVEL": "warning"}
    here.connect()
    running = here.serve()
    async with clients(here) as (api, _):
        await api.ready()
        soak = Soak(here, api, running)
        await soak.take_sample()
        end = time.monotonic() + SECONDS
        await asyncio.gather(soak.load(end), soak.look(end))

        async def at_rest() -> bool:
            return not await api.on_the_way()

        await until(at_rest, "every message has come to its end")
        figures = {name: round(value, 2) for name, value in soak.figures().items()}
    report(f"{soak.posted} messages in {SECONDS:.0f} s, {figures}")
    record(footprint=here.footprint, messages=soak.posted, **figures)
    soak.check()

"""What customers write, taken whole: contact, dossier, conversation, entry, window, lane and feed before the 200."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import apsw
import asyncpg
import uvloop

from bench import load
from bench.peers import database, naive_ingest, raw_webhook
from bench.peers.naive_ingest import NAME as NAIVE
from bench.peers.serving import WebhookResult, compared
from bench.peers.serving import measure as under_load
from bench.table import Line
from bench.waypost_webhook import connected, settings_for
from waypost.http.edge.webhook_endpoint import PATH

LINES_EACH = 10
"""Of one customer: most lines come from somebody who is known."""
SLOW = 10
"""The naive one gets so much less to do,"""
FEWEST = 1_500
"""yet enough that its 64 connections seldom meet in one customer."""

_KEPT = """
SELECT (SELECT count(*) FROM entry WHERE sender = 'contact'), (SELECT count(DISTINCT wamid) FROM entry),
    (SELECT count(*) FROM contact), (SELECT count(*) FROM dossier), (SELECT count(*) FROM pair),
    (SELECT count(*) FROM lane WHERE due_at IS NOT NULL), (SELECT count(*) FROM feed_item)
"""


def customers(count: int) -> int:
    return max(1, count // LINES_EACH)


def write_bodies(file: Path, count: int) -> Path:
    """One line each, then the next; every line has a wamid of its own."""
    crowd = customers(count)
    file.write_bytes(b"\n".join(load.a_message(number, customer=number % crowd) for number in range(count)))
    return file


async def _kept(url: str) -> tuple[int, ...]:
    if url.startswith("sqlite"):
        return tuple(apsw.Connection(url.removeprefix("sqlite:///")).execute(_KEPT).get)
    connection = await asyncpg.connect(url)
    found = await connection.fetchrow(_KEPT)
    await connection.close()
    return tuple(found or ())


async def run(url: str, count: int, name: str, bodies: Path) -> WebhookResult:
    settings = settings_for(url, "echo")
    async with connected(settings):
        pass
    arguments = ["--url", url, "--bot", "echo"]
    module = "bench.waypost_webhook"
    result = await asyncio.to_thread(under_load, name, module, arguments, count, path=PATH, bodies=bodies)
    crowd = customers(count)
    assert await _kept(url) == (count, count, crowd, crowd, crowd, crowd, count), await _kept(url)
    assert not result.load.refused
    return result


async def run_postgres(url: str, count: int, bodies: Path) -> WebhookResult:
    async with database.fresh(url, "bench_ingest") as own:
        return await run(own, count, "Waypost, PostgreSQL", bodies)


async def run_sqlite(count: int, bodies: Path) -> WebhookResult:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return await run(f"sqlite:///{folder}/waypost.db", count, "Waypost, SQLite", bodies)


def _round(url: str, count: int, folder: Path) -> list[WebhookResult]:
    bodies = write_bodies(folder / "bodies.jsonl", count)
    fewer = max(FEWEST, count // SLOW)
    few = write_bodies(folder / "few.jsonl", fewer)
    return [
        uvloop.run(run_postgres(url, count, bodies)),
        uvloop.run(raw_webhook.run_postgres(url, count, bodies)),
        uvloop.run(run_sqlite(count, bodies)),
        raw_webhook.run_sqlite(count, bodies),
        uvloop.run(naive_ingest.run(url, fewer, few, customers(fewer))),
    ]


def measure(url: str, rounds: int, count: int) -> list[Line]:
    results: list[WebhookResult] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for _ in range(rounds):
            for result in _round(url, count, Path(folder)):
                print(result, flush=True)
                results.append(result)
    lines = compared("ingest", results)
    rates = {line.name: line.figure for line in lines}
    ours = rates["Waypost, PostgreSQL"]
    usual = Line("ingest", "Waypost, PostgreSQL", ours, "requests/s", ours / rates[NAIVE], NAIVE, 5.0)
    return [*lines, usual]

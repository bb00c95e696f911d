"""The same server on PostgreSQL alone, and with Redis and Cassandra beside it: lines taken, sends, and posts."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

import asyncpg
import uvloop

from bench import ingest, posting, waypost_live, waypost_send
from bench.peers import database, provider
from bench.peers.serving import measure as under_load
from bench.peers.serving import running
from bench.table import Line
from bench.waypost_webhook import connected, settings_for
from waypost.http.edge.webhook_endpoint import PATH
from waypost.runtime.settings.roles import ALL_ROLES
from waypost.runtime.wiring.wiring import migrate
from waypost_testing.services.cassandra import Cassandra
from waypost_testing.services.processes import Redis

ALONE, WHOLE = "PostgreSQL alone", "PostgreSQL, Redis and Cassandra"
GOAL = 0.7
_ROLES = ",".join(sorted(role.value for role in ALL_ROLES))


def _options(others: Mapping[str, str]) -> list[str]:
    return [option for name, value in others.items() for option in ("--set", f"{name}={value}")]


def taken(url: str, count: int, others: Mapping[str, str]) -> float:
    """Webhooks a second with one line each; the process also hands over what it took, as one with every role does."""

    async def run() -> float:
        async with database.fresh(url, "bench_stack") as own:
            async with connected(settings_for(own, **others)):
                pass
            arguments = ["--url", own, "--roles", _ROLES, *_options(others)]
            module, bodies = "bench.waypost_webhook", ingest.write_bodies(Path(folder) / "bodies.jsonl", count)
            result = await asyncio.to_thread(under_load, "", module, arguments, count, path=PATH, bodies=bodies)
            connection = await asyncpg.connect(own)
            kept = await connection.fetchval("SELECT count(*) FROM entry WHERE sender = 'contact'")
            await connection.close()
            assert kept == count
            assert not result.load.refused
            return result.load.per_second

    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return uvloop.run(run())


def sent(url: str, count: int, others: Mapping[str, str]) -> float:
    """Messages a second that one process claims, sends and settles."""
    with provider.running() as to:
        return uvloop.run(waypost_send.run_postgres(url, to, count, **others)).per_second


def posted(url: str, _count: int, others: Mapping[str, str]) -> float:
    """Posts a second by WebSocket, each seen by the other before the chat's next."""
    with waypost_live.uvloop_runner() as runner:
        fresh = database.fresh(url, "bench_stack")
        own = runner.run(fresh.__aenter__())
        try:
            runner.run(migrate(settings_for(own, **others)))
            runner.run(waypost_live.prepare(own, 2 * posting.CHATS))
            chats = runner.run(waypost_live.open_directs(own, posting.CHATS))
            with running("bench.waypost_live", ["--url", own, *_options(others)]) as (pid, port):
                return runner.run(posting.by_socket(pid, port, chats)).per_second
        finally:
            runner.run(fresh.__aexit__(None, None, None))


WAYS: dict[str, Callable[[str, int, Mapping[str, str]], float]] = {"ingest": taken, "send": sent, "post": posted}


def measure(url: str, rounds: int, count: int) -> list[Line]:
    rates: dict[tuple[str, str], list[float]] = {}
    with Redis() as redis, Cassandra() as cassandra:
        for number in range(rounds):
            for way, run in WAYS.items():
                # A keyspace for each run: it is to find no conversation of another one's.
                whole = {"redis_url": redis.url, "history_url": cassandra.history_url(f"bench_{way}_{number}")}
                for name, others in ((ALONE, {}), (WHOLE, whole)):
                    rate = run(url, count, others)
                    print(f"{way}, {name}: {rate:,.0f}/s", flush=True)
                    rates.setdefault((way, name), []).append(rate)
    middle = {which: median(values) for which, values in rates.items()}
    return [_line(way, name, rate, middle[way, ALONE]) for (way, name), rate in middle.items()]


def _line(way: str, name: str, rate: float, alone: float) -> Line:
    if name == ALONE:
        return Line("stack", f"{way}, {name}", rate, "/s")
    return Line("stack", f"{way}, {name}", rate, "/s", rate / alone, ALONE, GOAL)

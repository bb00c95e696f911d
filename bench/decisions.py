"""What PostgreSQL itself spends on each thing that Waypost decides: processor time, WAL and disk, server left out.

The Ledger is called in this process, as the server calls it, with as much at once as it takes; what is measured is
PostgreSQL's processes, so that a machine shared with the load still tells how much a core of the database can decide.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import asyncpg
import uvloop

from bench import load, waypost_live, waypost_turns
from bench.ingest import LINES_EACH
from bench.peers import database
from bench.table import Line
from bench.waypost_send import ORG
from bench.waypost_webhook import accepted, claimed, connected, settings_for, status_of, submitted
from waypost.flow.conversations import post
from waypost.flow.receiving import receive_webhook
from waypost.flow.world import World
from waypost.model.account import Caller, Role
from waypost.model.ids import UserId
from waypost.model.message import ClaimedMessage
from waypost.ports.conversations.chats import Posted

PART = "decisions"
AT_ONCE = 1_000
CHATS = 200
TURNS = 2_000
"""At most: they are answered one by one."""


@dataclass(frozen=True)
class Meter:
    """Since the server started: seconds of a core, bytes of WAL, bytes of this database on disk."""

    cpu: float
    wal: int
    size: int
    at: float


@dataclass(frozen=True)
class Cost:
    """Of one decision."""

    name: str
    per_second: float
    cpu_us: float
    wal: float
    disk: float

    def __str__(self) -> str:
        spent = f"PostgreSQL {self.cpu_us:.0f} µs of CPU, {self.wal:,.0f} bytes of WAL, {self.disk:,.0f} on disk each"
        return f"{self.name}: {self.per_second:,.0f}/s, {spent}"


def server_cpu(backend: int) -> float:
    """Of all processes of a backend's server, also of those that ended."""
    parent = _stat(backend)[1]
    ended = sum(map(int, _stat(int(parent))[11:15]))
    ticks = ended
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = _stat(int(folder.name))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        if fields[1] == parent:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


class Watch:
    """A connection that looks at what the others cost."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self.costs: list[Cost] = []

    async def read(self) -> Meter:
        asked = "SELECT pg_backend_pid(), pg_current_wal_lsn() - '0/0'::pg_lsn, pg_database_size(current_database())"
        pid, wal, size = await self._connection.fetchrow(asked)
        return Meter(server_cpu(pid), int(wal), size, time.perf_counter())

    async def over(self, name: str, count: int, deed: Callable[[], Awaitable[None]]) -> None:
        before = await self.read()
        await deed()
        after = await self.read()
        cost = Cost(
            name,
            count / (after.at - before.at),
            (after.cpu - before.cpu) / count * 1e6,
            (after.wal - before.wal) / count,
            (after.size - before.size) / count,
        )
        print(cost, flush=True)
        self.costs.append(cost)


@asynccontextmanager
async def watching(url: str) -> AsyncIterator[Watch]:
    connection = await asyncpg.connect(url)
    try:
        yield Watch(connection)
    finally:
        await connection.close()


async def _take(bodies: Sequence[bytes], world: World) -> None:
    """As the door does once it has read a POST."""
    for first in range(0, len(bodies), AT_ONCE):
        some = bodies[first : first + AT_ONCE]
        answers = [receive_webhook.receive(body, load.signature(body, load.SECRET), None, world) for body in some]
        for answer in await asyncio.gather(*answers):
            assert isinstance(answer, receive_webhook.WebhookAccepted), answer


async def outbox(url: str, count: int) -> list[Cost]:
    """Messages of a business: stored, claimed and settled, confirmed; and what customers write."""
    async with connected(settings_for(url, "echo")) as world, watching(url) as watch:
        batches = [range(first, min(first + AT_ONCE, count)) for first in range(0, count, AT_ONCE)]
        sent: list[ClaimedMessage] = []

        async def submit() -> None:
            for batch in batches:
                await submitted(world, batch)

        async def send() -> None:
            for batch in batches:
                some = await claimed(world, len(batch))
                await accepted(world, some)
                sent.extend(some)

        await watch.over("a message is submitted", count, submit)
        await watch.over("a message is claimed and settled", count, send)
        statuses = [status_of(message).strip() for message in sent]
        await watch.over("a status is taken", count, lambda: _take(statuses, world))
        lines = [load.a_message(number, customer=number % (count // LINES_EACH)) for number in range(count)]
        await watch.over("a customer's line is taken", count, lambda: _take(lines, world))
        return watch.costs


async def turns(url: str, count: int) -> list[Cost]:
    async with waypost_turns.working(url, 1) as hot, watching(url) as watch:

        async def answer() -> None:
            await hot.turns(count)

        await watch.over("a line is taken, its turn answered, the reply stored", count, answer)
        return watch.costs


async def posts(url: str, count: int) -> list[Cost]:
    await waypost_live.prepare(url, 2 * CHATS)
    chats = await waypost_live.open_directs(url, CHATS)
    async with waypost_live.connected(settings_for(url)) as world, watching(url) as watch:

        async def say(number: int) -> None:
            chat = number % CHATS
            who = Caller(org_id=ORG, role=Role.AGENT, user_id=UserId(waypost_live.person(2 * chat)))
            content = waypost_live.a_post(f"m{number}", chats[chat])["content"]
            words = post.PostRequest(client_message_id=f"m{number}", conversation_id=chats[chat], content=content)
            assert isinstance(await post.post(words, who, world), Posted)

        async def post_all() -> None:
            for first in range(0, count, CHATS):
                await asyncio.gather(*(say(number) for number in range(first, min(first + CHATS, count))))

        await watch.over("somebody posts to somebody", count, post_all)
        return watch.costs


async def _once(url: str, count: int) -> list[Cost]:
    costs = []
    for deed, most in ((outbox, count), (turns, min(count, TURNS)), (posts, count)):
        async with database.fresh(url, "bench_decisions") as own:
            costs += await deed(own, most)
    return costs


def measure(url: str, rounds: int, count: int) -> list[Line]:
    found: dict[str, list[Cost]] = {}
    for _ in range(rounds):
        for cost in uvloop.run(_once(url, count)):
            found.setdefault(cost.name, []).append(cost)
    return [line for name, costs in found.items() for line in _lines(name, costs)]


def _lines(name: str, costs: list[Cost]) -> list[Line]:
    return [
        Line(PART, name, median(cost.per_second for cost in costs), "decisions/s"),
        Line(PART, f"{name}, PostgreSQL's core", median(cost.cpu_us for cost in costs), "µs"),
        Line(PART, f"{name}, WAL", median(cost.wal for cost in costs), "bytes"),
        Line(PART, f"{name}, on disk", median(cost.disk for cost in costs), "bytes"),
    ]

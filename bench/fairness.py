"""One org's single messages while another org has a backlog of 100,000: how long from stored to the provider's door."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

import apsw
import asyncpg
import uvloop
from msgspec.structs import replace

from bench.peers import database, provider
from bench.peers.provider import Provider
from bench.table import Line
from bench.waypost_send import draft, opened, store
from waypost.flow.accounts import access
from waypost.flow.sending.deliver import DeliveryWorker
from waypost.flow.world import World
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import seconds
from waypost.ports.platform.hints import OUTBOX
from waypost.ports.sending.outbox import Created

BACKLOG = 100_000
FIRST = 2_000
"""Stored as a caller would; the rest are copies."""
SINGLES = 100
PAUSE = 0.05
QUIET, NUMBER = OrgId("quiet"), NumberId("99")


async def _connect(world: World) -> None:
    await access.create_org(QUIET, world)
    secrets = {"token": "t", "app_secret": "s", "verify_token": "v"}
    await access.connect_number(QUIET, access.NewNumber(number=NUMBER, waba_id="q", secrets=secrets), world)


_MESSAGES = """
WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {times})
INSERT INTO message (org_id, sender, channel, recipient, payload, idempotency_key, digest, priority, ordered,
    max_attempts, created_at)
SELECT org_id, sender, channel, recipient, payload, idempotency_key || '-' || n, digest, priority, ordered,
    max_attempts, created_at
FROM message CROSS JOIN n WHERE org_id = 'bench'
"""
_DELIVERIES = """
INSERT INTO delivery (message_id, org_id, sender, priority, max_attempts, status, generation, fence, first_fence, tries,
    due_at, open_at_claim, parked, updated_at, outlet)
SELECT m.id, m.org_id, m.sender, m.priority, m.max_attempts, 'QUEUED', 1, 0, 0, 0, m.created_at, 0, FALSE, m.created_at,
    o.id
FROM message m JOIN outlet o ON o.org_id = m.org_id AND o.sender = m.sender AND o.template = ''
WHERE m.org_id = 'bench' AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message_id = m.id)
"""
_READY = """
INSERT INTO ready (message_id, outlet, rank, ready_at)
SELECT d.message_id, d.outlet, d.updated_at - d.priority * 60000000, d.updated_at FROM delivery d
WHERE d.org_id = 'bench' AND NOT EXISTS (SELECT 1 FROM ready r WHERE r.message_id = d.message_id)
"""


async def _grow(url: str, times: int) -> None:
    """Copies of what is stored: a hundred thousand submits would take most of the minute."""
    statements = [_MESSAGES.format(times=times), _DELIVERIES, _READY]
    if not url.startswith("sqlite"):
        connection = await asyncpg.connect(url, command_timeout=600)
        for statement in [*statements, "VACUUM ANALYZE"]:
            await connection.execute(statement)
        await connection.close()
        return
    file = apsw.Connection(url.removeprefix("sqlite:///"))
    for statement in statements:
        await asyncio.to_thread(file.execute, statement)
    file.close()


async def _singles(world: World, first: int, count: int) -> dict[int, float]:
    """One now and then; answers when each was stored."""
    stored: dict[int, float] = {}
    for number in range(first, first + count):
        wish = replace(draft(number), org_id=QUIET, sender=NUMBER, idempotency_key=f"quiet-{number}")
        answer = await world.ledger.outbox.submit(wish, world.clock.now())
        assert isinstance(answer, Created)
        stored[answer.message.id] = time.monotonic()
        world.hints.give([OUTBOX])
        await asyncio.sleep(PAUSE)
    return stored


async def _delays(world: World, to: Provider, first: int, wanted: int) -> list[float]:
    """Sorted, in seconds. What the provider has not seen by the end counts as the whole time."""
    courier = DeliveryWorker(world)
    running = asyncio.create_task(courier.run())
    to.reset()
    stored = await _singles(world, first, wanted)
    await asyncio.sleep(1)
    ended = time.monotonic()
    seen = {int(name.split(".")[1]): at[0] for name, at in (await asyncio.to_thread(to.arrivals)).items()}
    await courier.stop(seconds(10))
    await running
    return sorted(max(0.0, seen.get(message_id, ended) - at) for message_id, at in stored.items())


async def _run(url: str, to: Provider, backlog: int) -> tuple[list[float], list[float]]:
    """Alone, then beside the backlog."""
    async with opened(url, to, slots=256, batch=100) as world:
        await _connect(world)
        alone = await _delays(world, to, 0, SINGLES)
        await store(world, SINGLES, FIRST)
        await _grow(url, backlog // FIRST - 1)
        return alone, await _delays(world, to, backlog + SINGLES, SINGLES)


async def _both(url: str, to: Provider, backlog: int) -> dict[str, tuple[list[float], list[float]]]:
    with tempfile.TemporaryDirectory() as folder:
        on_sqlite = await _run(f"sqlite:///{Path(folder) / 'bench.db'}", to, backlog)
    async with database.fresh(url, "bench_fairness") as own:
        return {"SQLite": on_sqlite, "PostgreSQL": await _run(own, to, backlog)}


def _p99(delays: list[float]) -> float:
    return delays[int(len(delays) * 0.99)] * 1e3


def measure(url: str, _rounds: int, _count: int, backlog: int = BACKLOG) -> list[Line]:
    with provider.running(latency=0.02) as to:
        found = uvloop.run(_both(url, to, backlog))
    lines = []
    for name, (alone, beside) in found.items():
        lines.append(Line("fairness", f"a single message alone, p99, {name}", _p99(alone), "ms"))
        told = f"beside another org's {backlog:,}, p99, {name}"
        lines.append(Line("fairness", told, _p99(beside), "ms", goal=1000.0))
    return lines

"""Claims in front of a small and of a huge backlog: the index must not care."""

from __future__ import annotations

import asyncio
import time
from statistics import median

import asyncpg
import uvloop

from bench.peers import database, provider
from bench.table import Line
from bench.waypost_send import opened, store
from waypost.flow.world import World
from waypost.ports.sending.outbox import Demand

SMALL, LARGE = 10_000, 1_000_000
BATCH, CLAIMS, WARM = 100, 60, 20

_COPIES = """
INSERT INTO message (org_id, sender, channel, recipient, template, subject, payload, dossier_id, idempotency_key,
    digest, priority, scheduled_at, expires_at, ordered, max_attempts, queue_id, created_at)
SELECT org_id, sender, channel, '+49' || 2000000000 + n::bigint * 1000000 + id, template, subject, payload, dossier_id,
    idempotency_key || '-' || n, digest, priority, scheduled_at, expires_at, ordered, max_attempts, queue_id, created_at
FROM generate_series(1, $1::int) AS n CROSS JOIN message
"""
_DELIVERIES = """
INSERT INTO delivery (message_id, org_id, sender, priority, max_attempts, outlet, status, generation, fence,
    first_fence, tries, due_at, open_at_claim, parked, updated_at)
SELECT m.id, m.org_id, m.sender, m.priority, m.max_attempts, o.id, 'QUEUED', 1, 0, 0, 0, m.created_at, 0, FALSE,
    m.created_at
FROM message m
JOIN outlet o ON o.org_id = m.org_id AND o.sender = m.sender AND o.template = coalesce(m.template, '')
WHERE m.id > $1
"""
_READY = """
INSERT INTO ready (message_id, outlet, rank, ready_at)
SELECT d.message_id, d.outlet, d.updated_at - d.priority * 60000000, d.updated_at FROM delivery d
WHERE d.message_id > $1
"""


async def _grow(url: str, times: int) -> None:
    """Copies of what is stored, one statement a table: only the claims in front of them are measured."""
    connection = await asyncpg.connect(url, command_timeout=600, server_settings={"synchronous_commit": "off"})
    if times:
        last = await connection.fetchval("SELECT max(id) FROM message")
        await connection.execute(_COPIES, times)
        await connection.execute("ANALYZE message")
        await connection.execute(_DELIVERIES, last)
        await connection.execute(_READY, last)
    await connection.execute("VACUUM ANALYZE")
    await connection.execute("CHECKPOINT")
    await connection.close()


async def _rate(world: World, claims: int = CLAIMS) -> float:
    """Messages claimed a second, by the median claim."""
    times = []
    for _ in range(claims):
        started = time.perf_counter()
        batch = await world.ledger.outbox.claim(Demand(owner=world.worker, slots=BATCH), world.clock.now())
        times.append(time.perf_counter() - started)
        assert len(batch.claimed) == BATCH
        await asyncio.sleep(0)
    return BATCH / median(times)


async def _both(url: str) -> tuple[float, float]:
    """Interleaved, each on a database of its own."""
    with provider.running() as to:
        async with (
            database.fresh(url, "bench_small") as small_url,
            database.fresh(url, "bench_large") as large_url,
            opened(small_url, to, 256, 256) as small,
            opened(large_url, to, 256, 256) as large,
        ):
            await store(small, 0, SMALL)
            await store(large, 0, SMALL)
            await _grow(small_url, 0)
            await _grow(large_url, LARGE // SMALL - 1)
            await _rate(small, WARM), await _rate(large, WARM)
            return await _rate(small), await _rate(large)


def measure(url: str, _rounds: int, _count: int) -> list[Line]:
    small, large = uvloop.run(_both(url))
    against = f"claims with {SMALL:,} queued"
    return [
        Line("backlog", against, small, "messages/s", 1.0, against),
        Line("backlog", f"claims with {LARGE:,} queued", large, "messages/s", large / small, against, 0.9),
    ]

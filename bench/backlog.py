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
from waypost.ports.outbox import Demand

SMALL, LARGE = 10_000, 1_000_000
BATCH, CLAIMS = 100, 60

_COPIES = """
INSERT INTO message (org_id, sender, channel, recipient, template, subject, payload, dossier_id, idempotency_key,
    digest, priority, scheduled_at, expires_at, ordered, max_attempts, queue_id, created_at)
SELECT org_id, sender, channel, recipient, template, subject, payload, dossier_id, idempotency_key || '-' || n, digest,
    priority, scheduled_at, expires_at, ordered, max_attempts, queue_id, created_at
FROM message CROSS JOIN generate_series(1, $1::int) AS n;
"""
_DELIVERIES = """
INSERT INTO delivery
SELECT (jsonb_populate_record(NULL::delivery, to_jsonb(d) || jsonb_build_object('message_id', m.id))).*
FROM message m CROSS JOIN (SELECT * FROM delivery ORDER BY message_id LIMIT 1) d
WHERE NOT EXISTS (SELECT 1 FROM delivery x WHERE x.message_id = m.id)
"""
_READY = """
INSERT INTO ready (message_id, sender, rank, ready_at)
SELECT m.id, m.sender, m.created_at - m.priority * 60000000, m.created_at FROM message m
ON CONFLICT (message_id) DO NOTHING
"""


async def _grow(url: str, times: int) -> None:
    connection = await asyncpg.connect(url, command_timeout=600)
    if times:
        await connection.execute(_COPIES, times)
        await connection.execute(_DELIVERIES)
        await connection.execute(_READY)
    await connection.execute("VACUUM ANALYZE")
    await connection.execute("CHECKPOINT")
    await connection.close()


async def _rate(world: World) -> float:
    """Messages claimed a second, by the median claim."""
    times = []
    for _ in range(CLAIMS):
        started = time.perf_counter()
        claimed = await world.ledger.outbox.claim(Demand(owner=world.worker, slots=BATCH), world.clock.now())
        times.append(time.perf_counter() - started)
        assert len(claimed) == BATCH
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
            await _rate(small), await _rate(large)  # warm
            return await _rate(small), await _rate(large)


def measure(url: str, _rounds: int, _count: int) -> list[Line]:
    small, large = uvloop.run(_both(url))
    against = f"claims with {SMALL:,} queued"
    return [
        Line("backlog", against, small, "messages/s", 1.0, against),
        Line("backlog", f"claims with {LARGE:,} queued", large, "messages/s", large / small, against, 0.9),
    ]

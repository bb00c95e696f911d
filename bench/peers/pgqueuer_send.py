"""pgqueuer sending the same messages: one job is one HTTP call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg
from pgqueuer.models import Job
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries

from bench.peers import database
from bench.peers.provider import Provider
from bench.peers.sending import Caller, SendResult, Stopwatch, calling, command, message

_ENQUEUED_AT_ONCE = 1000


@dataclass(frozen=True)
class Settings:
    """What pgqueuer lets one turn; the defaults were the best of `--tune` here."""

    batch: int = 1000
    tasks: int | None = 2000
    """`max_concurrent_tasks`, at least twice the batch; None is unlimited."""
    connections: int = 128
    """To the provider."""
    pool: int = 4
    """Connections to PostgreSQL; 0 is a single one, without a pool."""

    def __str__(self) -> str:
        driver = f"pool of {self.pool}" if self.pool else "one connection"
        return f"batch {self.batch}, tasks {self.tasks or 'unlimited'}, {self.connections} in flight, {driver}"


_TRIED = [
    Settings(batch, tasks, pool=pool)
    for batch in (100, 500, 1000, 2000)
    for tasks in (None, 2 * batch)
    for pool in (0, 4)
]


async def run(
    url: str, to: Provider, count: int, settings: Settings | None = None, *, while_working: bool = False
) -> SendResult:
    """Send `count` messages, enqueued beforehand or, `while_working`, by the same process while it sends."""
    settings = settings or Settings()
    async with (
        database.fresh(url, "bench_pgqueuer") as own,
        calling(to, settings.connections) as caller,
        _queries(own, 0) as producer,
        _queries(own, settings.pool) as queries,
    ):
        await producer.install()
        if not while_working:
            await _enqueue(producer, count)
            await producer.driver.execute("VACUUM ANALYZE")
        manager = _manager(queries, caller)
        watch = Stopwatch(to)
        worker = asyncio.create_task(manager.run(batch_size=settings.batch, max_concurrent_tasks=settings.tasks))
        if while_working:
            await _enqueue(producer, count)
        name = "pgqueuer, enqueuing meanwhile" if while_working else "pgqueuer"
        result = await watch.result(name, str(settings), count)
        manager.shutdown.set()
        await worker
        return result


def _manager(queries: Queries, caller: Caller) -> QueueManager:
    manager = QueueManager(queries)

    @manager.entrypoint("send")
    async def send(job: Job) -> None:
        assert job.payload is not None
        await caller.post(job.payload)

    return manager


async def _enqueue(producer: Queries, count: int) -> None:
    for start in range(0, count, _ENQUEUED_AT_ONCE):
        bodies: list[bytes | None] = [message(number) for number in range(start, min(start + _ENQUEUED_AT_ONCE, count))]
        await producer.enqueue(["send"] * len(bodies), bodies, [0] * len(bodies))


@asynccontextmanager
async def _queries(url: str, pool_size: int) -> AsyncIterator[Queries]:
    if pool_size:
        async with asyncpg.create_pool(url, min_size=pool_size, max_size=pool_size) as pool:
            yield Queries.from_asyncpg_pool(pool)
        return
    connection = await asyncpg.connect(url)
    try:
        yield Queries.from_asyncpg_connection(connection)
    finally:
        await connection.close()


if __name__ == "__main__":
    command(__doc__, run, _TRIED, Settings(), 20_000)

"""procrastinate sending the same messages: one job is one HTTP call."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

import psycopg_pool
from procrastinate import App, PsycopgConnector
from procrastinate.types import JSONDict

from bench.peers import database
from bench.peers.provider import Provider
from bench.peers.sending import Caller, SendResult, Stopwatch, calling, command, message

_ENQUEUED_AT_ONCE = 1000


@dataclass(frozen=True)
class Settings:
    """What procrastinate lets one turn; the defaults were the best of `--tune` here."""

    workers: int = 4
    """Worker loops in the one process: each fetches its jobs one by one."""
    concurrency: int = 16
    """Jobs at a time per worker."""
    pool: int = 8
    """Connections to PostgreSQL."""
    delete: bool = False
    """Delete jobs that succeeded instead of keeping them."""

    def __str__(self) -> str:
        kept = "jobs deleted" if self.delete else "jobs kept"
        return f"{self.workers} workers of {self.concurrency}, pool of {self.pool}, {kept}"


_TRIED = [
    Settings(workers, 64 // workers, pool, delete)
    for workers in (1, 2, 4, 8)
    for pool in (8, 24)
    for delete in (False, True)
]


async def run(
    url: str, to: Provider, count: int, settings: Settings | None = None, *, while_working: bool = False
) -> SendResult:
    """Send `count` messages, deferred beforehand or, `while_working`, by the same process while it sends."""
    settings = settings or Settings()
    logging.getLogger("procrastinate").setLevel(logging.ERROR)  # it logs three lines a job, and a hint about __main__
    connections = settings.workers * settings.concurrency
    async with database.fresh(url, "bench_procrastinate") as own, calling(to, connections) as caller:
        app = _app(own, settings, caller)
        async with app.open_async():
            await app.schema_manager.apply_schema_async()
            if not while_working:
                await _defer(app, count)
                await app.connector.execute_query_async("ANALYZE")
            watch = Stopwatch(to)
            workers = [asyncio.create_task(_work(app, settings)) for _ in range(settings.workers)]
            if while_working:
                await _defer(app, count)
            name = "procrastinate, enqueuing meanwhile" if while_working else "procrastinate"
            result = await watch.result(name, str(settings), count)
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            return result


def _app(url: str, settings: Settings, caller: Caller) -> App:
    connector = PsycopgConnector(
        conninfo=url, min_size=settings.pool, max_size=settings.pool, pool_factory=psycopg_pool.AsyncConnectionPool
    )
    app = App(connector=connector)

    @app.task(name="send")
    async def send(body: str) -> None:
        await caller.post(body.encode())

    return app


async def _work(app: App, settings: Settings) -> None:
    await app.run_worker_async(
        concurrency=settings.concurrency,
        delete_jobs="successful" if settings.delete else "never",
        install_signal_handlers=False,
    )


async def _defer(app: App, count: int) -> None:
    send = app.tasks["send"]
    for start in range(0, count, _ENQUEUED_AT_ONCE):
        numbers = range(start, min(start + _ENQUEUED_AT_ONCE, count))
        jobs: list[JSONDict] = [{"body": message(number).decode()} for number in numbers]
        await send.batch_defer_async(*jobs)


if __name__ == "__main__":
    command(__doc__, run, _TRIED, Settings(), 3_000)

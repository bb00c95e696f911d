"""A customer's jobs one after the other on procrastinate: its `lock` runs none while an earlier one is there."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import psycopg_pool
from procrastinate import App, PsycopgConnector

HOT = 20
WORKERS, CONCURRENCY, POOL = 4, 16, 8
"""The best of procrastinate_send's `--tune`."""
PATIENCE = 15.0
"""Seconds after which what was answered so far is the measure: in front of many jobs it takes very long."""

_LATER = """
INSERT INTO procrastinate_jobs (queue_name, task_name, lock, args, status, scheduled_at)
SELECT 'default', 'answer', 'waiting-' || n, jsonb_build_object('customer', 'waiting-' || n, 'line', 0), 'todo',
    now() + interval '1 day'
FROM generate_series(1, $1::int) AS n
"""


class Hot:
    """Its queue, its hot customers and its workers."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.answered: dict[str, asyncio.Future[None]] = {}
        self._done = 0

    async def turns(self, count: int) -> float:
        self._done = 0
        started = time.perf_counter()
        customers = [asyncio.create_task(self._customer(f"hot-{who}", count // HOT)) for who in range(HOT)]
        await asyncio.wait(customers, timeout=PATIENCE)
        seconds = time.perf_counter() - started
        for customer in customers:
            customer.cancel()
        await asyncio.gather(*customers, return_exceptions=True)
        return self._done / seconds

    async def _customer(self, name: str, lines: int) -> None:
        answer = self._app.tasks["answer"]
        for line in range(lines):
            answered = self.answered[name] = asyncio.get_running_loop().create_future()
            await answer.configure(lock=name).defer_async(customer=name, line=line)
            await answered
            self._done += 1


@asynccontextmanager
async def working(url: str, waiting: int) -> AsyncIterator[Hot]:
    logging.getLogger("procrastinate").setLevel(logging.ERROR)  # it logs three lines a job
    connector = PsycopgConnector(
        conninfo=url, min_size=POOL, max_size=POOL, pool_factory=psycopg_pool.AsyncConnectionPool
    )
    app = App(connector=connector)
    hot = Hot(app)

    @app.task(name="answer")
    async def answer(customer: str, line: int) -> None:
        statement = "INSERT INTO reply (customer, line, body) VALUES (%(customer)s, %(line)s, 'ok')"
        await connector.execute_query_async(statement, customer=customer, line=line)
        waiting_for = hot.answered.get(customer)
        if waiting_for is not None and not waiting_for.done():
            waiting_for.set_result(None)

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await _prepare(url, waiting)
        workers = [asyncio.create_task(_work(app)) for _ in range(WORKERS)]
        try:
            yield hot
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)


async def _prepare(url: str, waiting: int) -> None:
    connection = await asyncpg.connect(url, command_timeout=600)
    await connection.execute("CREATE TABLE reply (id bigserial PRIMARY KEY, customer text, line int, body text)")
    await connection.execute(_LATER, waiting)
    await connection.execute("VACUUM ANALYZE")
    await connection.execute("CHECKPOINT")
    await connection.close()


async def _work(app: App) -> None:
    await app.run_worker_async(concurrency=CONCURRENCY, install_signal_handlers=False)

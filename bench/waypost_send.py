"""Waypost's own outbox sending the same messages to the same provider: claim, call, settle, on either Ledger."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvloop

from bench.peers import database, provider
from bench.peers.provider import Provider
from bench.peers.sending import SendResult, Stopwatch
from waypost.flow.accounts import access
from waypost.flow.sending.deliver import DeliveryWorker
from waypost.flow.world import World
from waypost.model.ids import NumberId, OrgId
from waypost.model.message import Channel, Draft
from waypost.model.time import seconds
from waypost.runtime.process import freeze_gc
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.telemetry.telemetry import Telemetry
from waypost.runtime.wiring.wiring import build_world, migrate, system_ports

ORG = OrgId("bench")
NUMBERS = [NumberId(str(number)) for number in range(1, 33)]
"""Enough of them that the fastest pace of one number (1,000 a second) is not what is measured."""
_AT_ONCE = 2_000


def draft(number: int) -> Draft:
    return Draft(
        org_id=ORG,
        sender=NUMBERS[number % len(NUMBERS)],
        channel=Channel.WHATSAPP,
        recipient=f"+4915{number:08d}",
        template=None,
        subject=None,
        payload=f'{{"text":"Your order {number} is on its way, it arrives tomorrow."}}',
        dossier_id=None,
        idempotency_key=f"bench-{number}",
        digest=b"bench",
        priority=5,
        scheduled_at=None,
        expires_at=None,
        ordered=False,
        max_attempts=5,
    )


async def store(world: World, first: int, count: int) -> None:
    for start in range(first, first + count, _AT_ONCE):
        numbers = range(start, min(start + _AT_ONCE, first + count))
        await asyncio.gather(*(world.ledger.outbox.submit(draft(n), world.clock.now()) for n in numbers))


@asynccontextmanager
async def opened(
    url: str, to: Provider, slots: int, batch: int, *, quota: int = 0, window: str = "ignore", **others: Any
) -> AsyncIterator[World]:
    """A world on a migrated Ledger, with numbers whose provider is `to`."""
    settings = settings_for(url, slots, batch, quota=quota, window=window, **others)
    await migrate(settings)
    async with connected(settings, to) as world:
        await access.create_org(ORG, world)
        secrets = {"token": "E" * 180, "app_secret": "s", "verify_token": "v"}
        for number in NUMBERS:
            await access.connect_number(ORG, access.NewNumber(number=number, waba_id="w", secrets=secrets), world)
        yield world


def settings_for(
    url: str, slots: int, batch: int, *, quota: int = 0, window: str = "ignore", **others: Any
) -> Settings:
    return Settings(
        env="local",
        secret_key="bench",  # noqa: S106  # seals made-up secrets only
        database_url=url,
        outbound_worker_slots=slots,
        outbound_worker_batch_size=batch,
        outbound_quota=quota,
        outbound_pace=1000,
        outbound_window=window,
        **others,
    )


@asynccontextmanager
async def connected(settings: Settings, to: Provider) -> AsyncIterator[World]:
    ports = await system_ports(settings, serving=True)
    graph = to.messages_url.removesuffix("/messages").rsplit("/", 1)[0]
    yield build_world(ports, settings.tuning(), Telemetry(), graph_url=graph, graph_timeout=60.0)
    await ports.close()


async def _timed(world: World, to: Provider, count: int, name: str, settings: str) -> SendResult:
    courier = DeliveryWorker(world)
    freeze_gc.freeze_gc()
    watch = Stopwatch(to)
    running = asyncio.create_task(courier.run())
    result = await watch.result(name, settings, count)
    await courier.stop(seconds(10))
    await running
    return result


async def run_postgres(
    url: str, to: Provider, count: int, slots: int = 256, batch: int = 256, **others: Any
) -> SendResult:
    async with database.fresh(url, "bench_waypost") as own, opened(own, to, slots, batch, **others) as world:
        await store(world, 0, count)
        return await _timed(world, to, count, "Waypost on PostgreSQL", f"{slots} slots, batch {batch}")


async def run_sqlite(to: Provider, count: int, slots: int = 256, batch: int = 256) -> SendResult:
    with tempfile.TemporaryDirectory() as folder:
        async with opened(f"sqlite:///{Path(folder) / 'bench.db'}", to, slots, batch) as world:
            await store(world, 0, count)
            return await _timed(world, to, count, "Waypost on SQLite", f"{slots} slots, batch {batch}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="PostgreSQL; without it, SQLite")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--slots", type=int, default=256)
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
    with provider.running() as to:
        started = time.perf_counter()
        if options.url:
            result = uvloop.run(run_postgres(options.url, to, options.count, options.slots, options.batch))
        else:
            result = uvloop.run(run_sqlite(to, options.count, options.slots, options.batch))
        print(f"{result} ({time.perf_counter() - started:.1f} s in all)")


if __name__ == "__main__":
    main()

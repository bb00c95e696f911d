"""A steady 1,000 messages a second for one number: how long from stored to the provider's door."""

from __future__ import annotations

import asyncio
import time

import uvloop
from msgspec.structs import replace

from bench.peers import database, provider
from bench.peers.provider import Provider
from bench.table import Line
from bench.waypost_send import NUMBERS, draft, opened
from waypost.flow.sending.deliver import DeliveryWorker
from waypost.flow.world import World
from waypost.model.time import seconds
from waypost.ports.platform.hints import OUTBOX

RATE = 1_000
TICK = 0.005
LASTING = 10.0


async def _submit(world: World, stored: dict[int, float], number: int) -> None:
    await world.ledger.outbox.submit(replace(draft(number), sender=NUMBERS[0]), world.clock.now())
    stored[number + 1] = time.monotonic()  # ids count from 1 in a fresh database
    world.hints.give([OUTBOX])


async def _steadily(world: World, count: int) -> dict[int, float]:
    """Submit at the rate, whatever the sending does; answers when each was stored."""
    stored: dict[int, float] = {}
    started, sent, under_way = time.monotonic(), 0, []
    while sent < count:
        due = min(count, int((time.monotonic() - started) * RATE))
        under_way += [asyncio.ensure_future(_submit(world, stored, number)) for number in range(sent, due)]
        sent = due
        await asyncio.sleep(TICK)
    await asyncio.gather(*under_way)
    return stored


async def run(url: str, to: Provider) -> list[float]:
    """The delays, in seconds, sorted."""
    count = int(RATE * LASTING)
    async with database.fresh(url, "bench_pace") as own, opened(own, to, slots=256, batch=256) as world:
        courier = DeliveryWorker(world)
        running = asyncio.create_task(courier.run())
        to.reset()
        stored = await _steadily(world, count)
        await asyncio.to_thread(to.wait, count, 60.0)
        arrivals = {name: times[0] for name, times in (await asyncio.to_thread(to.arrivals)).items()}
        await courier.stop(seconds(10))
        await running
    ids = {int(name.split(".")[1]): at for name, at in arrivals.items()}
    return sorted(max(0.0, ids[message_id] - at) for message_id, at in stored.items())


def measure(url: str, _rounds: int, _count: int) -> list[Line]:
    with provider.running(latency=0.02) as to:
        delays = uvloop.run(run(url, to))
    p50, p99 = delays[len(delays) // 2] * 1e3, delays[int(len(delays) * 0.99)] * 1e3
    return [
        Line("pace", f"stored → provider at {RATE:,}/s, p50", p50, "ms"),
        Line("pace", f"stored → provider at {RATE:,}/s, p99", p99, "ms", goal=100.0),
    ]

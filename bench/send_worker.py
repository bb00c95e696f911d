"""One worker process for benchmarks of several: it sends what waits, until terminated."""

from __future__ import annotations

import argparse
import asyncio

import uvloop

from bench.peers.provider import Provider
from bench.waypost_send import connected, settings_for
from waypost.flow.sending.deliver import DeliveryWorker
from waypost.model.time import seconds
from waypost.runtime.process import freeze_gc
from waypost.runtime.process.uvicorn_runner import stop_signal


async def work(url: str, to: Provider, slots: int, quota: int) -> None:
    """It says that it is ready, and begins when it is told a line: all of them begin together."""
    told = stop_signal()
    async with connected(settings_for(url, slots, slots, quota=quota), to) as world:
        courier = DeliveryWorker(world)
        freeze_gc.freeze_gc()
        print("ready", flush=True)
        await asyncio.to_thread(input)
        running = asyncio.create_task(courier.run())
        await told.wait()
        await courier.stop(seconds(10))
        await running


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="the Ledger's, with messages that wait")
    parser.add_argument("--provider", required=True, help="its address")
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--quota", type=int, default=0)
    options = parser.parse_args()
    uvloop.run(work(options.url, Provider(options.provider), options.slots, options.quota))

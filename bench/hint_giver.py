"""The other process of the benchmark of hints: gives one every few milliseconds, and says when."""

from __future__ import annotations

import asyncio
import sys
import time

import uvloop
from redis.asyncio import Redis

from waypost.ports.platform.hints import GONE
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.wiring.hint_transports import open_hints

EVERY = 0.007


async def by_hints(settings: Settings, count: int) -> None:
    hints, line = open_hints(settings)
    if line is not None:
        await line.until(up=True)
    for _ in range(count):
        await asyncio.sleep(EVERY)
        hints.give([f"{GONE}:{time.monotonic_ns()}"])
    await asyncio.sleep(0.1)
    hints.close()


async def by_stream(url: str, count: int) -> None:
    async with Redis.from_url(url, driver_info=None) as client:
        for _ in range(count):
            await asyncio.sleep(EVERY)
            await client.xadd("hints", {"t": time.monotonic_ns()}, maxlen=1000, approximate=True)


async def by_telling(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(EVERY)
        sys.stdout.write(f"{time.monotonic_ns()}\n")
        sys.stdout.flush()


def main(way: str, where: str, count: str) -> None:
    match way:
        case "datagram":
            uvloop.run(by_hints(Settings(hints_dir=where), int(count)))
        case "redis":
            uvloop.run(by_hints(Settings(redis_url=where), int(count)))
        case "stream":
            uvloop.run(by_stream(where, int(count)))
        case _:
            uvloop.run(by_telling(int(count)))


if __name__ == "__main__":
    main(*sys.argv[1:])

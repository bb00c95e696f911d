"""How long a wake-up takes from one process to another: by datagram, by Redis, by a stream of Redis, by polling."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from statistics import quantiles

import uvloop
from redis.asyncio import Redis as Library

from bench.table import Line
from waypost.model.time import seconds
from waypost.ports.platform.hints import GONE
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.wiring.hint_transports import open_hints
from waypost_testing.services.processes import Redis

COUNT = 500
POLL = 5.0
"""Seconds: what a worker does when no hint comes."""
POLLED = 2000


def _giver(way: str, where: str, count: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "bench.hint_giver", way, where, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


async def _by_hints(settings: Settings, way: str, where: str) -> list[float]:
    hints, line = open_hints(settings)
    if line is not None:
        await line.until(up=True)
    took: list[float] = []
    with hints.listen(GONE) as ear:
        giver = await asyncio.to_thread(_giver, way, where, COUNT)
        while len(took) < COUNT and await ear.wait(seconds(10)):
            now = time.monotonic_ns()
            took += [(now - int(name)) / 1e6 for name in ear.named()]
    await asyncio.to_thread(giver.communicate)
    hints.close()
    await asyncio.sleep(0.05)
    return took


async def _by_stream(url: str) -> list[float]:
    took: list[float] = []
    async with Library.from_url(url, driver_info=None, socket_timeout=15) as client:
        giver, last = await asyncio.to_thread(_giver, "stream", url, COUNT), b"$"
        while len(took) < COUNT and (found := await client.xread({"hints": last}, block=10_000)):
            now = time.monotonic_ns()
            entries = found[0][1]
            took += [(now - int(fields[b"t"])) / 1e6 for _, fields in entries]
            last = entries[-1][0]
        await asyncio.to_thread(giver.communicate)
    return took


async def _by_polling() -> list[float]:
    """What was told in the meantime is seen when the pause is over."""
    took: list[float] = []
    giver = await asyncio.to_thread(_giver, "telling", "", POLLED)
    while giver.poll() is None:
        await asyncio.sleep(POLL)
        now = time.monotonic_ns()
        assert giver.stdout
        told = await asyncio.to_thread(_waiting_lines, giver)
        took += [(now - at) / 1e6 for at in told if at <= now]
    return took


def _waiting_lines(giver: subprocess.Popen[bytes]) -> list[int]:
    assert giver.stdout
    os.set_blocking(giver.stdout.fileno(), False)
    return [int(line) for line in (giver.stdout.read() or b"").split()]


def measure(_url: str, rounds: int, _count: int) -> list[Line]:
    with Redis() as redis, tempfile.TemporaryDirectory() as folder:
        ways: dict[str, Callable[[], Awaitable[list[float]]]] = {
            "datagram, one machine": lambda: _by_hints(Settings(hints_dir=folder), "datagram", folder),
            "Redis, sharded channel": lambda: _by_hints(Settings(redis_url=redis.url), "redis", redis.url),
            "Redis, one stream (bare)": lambda: _by_stream(redis.url),
        }
        took: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, run in ways.items():
                took[way] += uvloop.run(run())
    took[f"polling each {POLL:g} s"] = uvloop.run(_by_polling())
    return [line for way, times in took.items() for line in _lines(way, times)]


def _lines(way: str, times: list[float]) -> list[Line]:
    cuts = quantiles(times, n=100)
    return [Line("hints", f"{way}, p{p}", cuts[p - 1], "ms") for p in (50, 99)]

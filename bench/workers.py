"""Several worker processes on one PostgreSQL: two beside one, and four with a quota beside four without."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import uvloop

from bench.peers import database, provider
from bench.peers.provider import Provider
from bench.table import Line
from bench.waypost_send import opened, store

SLOW_PROVIDER = 0.05
FEW_SLOTS = 32
"""Of one worker: it sends 640 a second to a provider that takes 50 ms, and more only by a second worker."""
SLOTS = 128
CROWD = 4
WATCHED = 2.0
"""Seconds after the last message in which none may follow."""
ABOVE = 500
"""Messages beyond the quota, that must stay."""


@contextmanager
def workers(count: int, url: str, to: Provider, slots: int, quota: int = 0) -> Iterator[None]:
    options = ["--url", url, "--provider", to.url, "--slots", str(slots), "--quota", str(quota)]
    command = [sys.executable, "-m", "bench.send_worker", *options]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    children = [subprocess.Popen(command, **pipes, text=True) for _ in range(count)]  # type: ignore[call-overload]
    try:
        for child in children:
            assert child.stdout.readline() == "ready\n"
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
        yield
    finally:
        for child in children:
            child.terminate()
        for child in children:
            child.communicate()


async def sent(url: str, to: Provider, crowd: int, slots: int, count: int, quota: int = 0) -> float:
    """Messages a second while so many workers send `count` of them; with a quota of as many, more wait and stay."""
    async with database.fresh(url, "bench_workers") as own:
        async with opened(own, to, slots, slots, quota=quota) as world:
            await store(world, 0, count + (ABOVE if quota else 0))
        to.reset()
        with workers(crowd, own, to, slots, quota):
            seen = await asyncio.to_thread(to.wait, count, 300.0)
            rate = (count - 1) / (seen.last - seen.first)
            if quota:
                await asyncio.sleep(WATCHED)
        taken = to.seen()
        assert (taken.count, taken.ids) == (count, count), f"{taken.count} went out, {count} were to"
        return rate


def measure(url: str, rounds: int, count: int) -> list[Line]:
    few = max(2_000, count // 3)
    rates: dict[str, list[float]] = {}
    with provider.running(SLOW_PROVIDER) as slow, provider.running() as quick:
        for _ in range(rounds):
            found = {
                "one worker, provider of 50 ms": uvloop.run(sent(url, slow, 1, FEW_SLOTS, few)),
                "two workers, provider of 50 ms": uvloop.run(sent(url, slow, 2, FEW_SLOTS, few)),
                "four workers without a quota": uvloop.run(sent(url, quick, CROWD, SLOTS, count)),
                "four workers with a quota": uvloop.run(sent(url, quick, CROWD, SLOTS, count, quota=count)),
            }
            for name, rate in found.items():
                print(f"{time.strftime('%H:%M:%S')} {name}: {rate:,.0f} messages/s", flush=True)
                rates.setdefault(name, []).append(rate)
    middle = {name: median(values) for name, values in rates.items()}
    one, two, free, limited = middle
    return [
        Line("workers", one, middle[one], "messages/s"),
        Line("workers", two, middle[two], "messages/s", middle[two] / middle[one], one, 1.8),
        Line("workers", free, middle[free], "messages/s"),
        Line("workers", limited, middle[limited], "messages/s", middle[limited] / middle[free], free, 0.9),
    ]

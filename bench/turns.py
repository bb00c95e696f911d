"""Turns a second with few and with many customers waiting: the index must not care; beside a queue that locks."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from statistics import median

import uvloop

from bench import waypost_turns
from bench.peers import database, procrastinate_turns
from bench.table import Line

FEW, MANY = 100, 100_000
WANTED = 2_000
NAMES = {"postgres": "Waypost, PostgreSQL", "sqlite": "Waypost, SQLite", "procrastinate": "procrastinate"}
Turns = Callable[[int], Awaitable[float]]


@asynccontextmanager
async def _on_postgres(url: str, waiting: int) -> AsyncIterator[Turns]:
    async with database.fresh(url, f"bench_turns_{waiting}") as own, waypost_turns.working(own, waiting) as hot:
        yield hot.turns


@asynccontextmanager
async def _on_sqlite(_: str, waiting: int) -> AsyncIterator[Turns]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        async with waypost_turns.working(f"sqlite:///{folder}/turns.db", waiting) as hot:
            yield hot.turns


@asynccontextmanager
async def _on_procrastinate(url: str, waiting: int) -> AsyncIterator[Turns]:
    async with database.fresh(url, f"bench_locks_{waiting}") as own, procrastinate_turns.working(own, waiting) as hot:
        yield hot.turns


_SIDES = {"postgres": _on_postgres, "procrastinate": _on_procrastinate, "sqlite": _on_sqlite}


async def _both(url: str, side: str, rounds: int, count: int) -> tuple[list[float], list[float]]:
    """Interleaved, each on a database of its own."""
    few_rates, many_rates = [], []
    async with _SIDES[side](url, FEW) as few, _SIDES[side](url, MANY) as many:
        await few(count // 5), await many(count // 5)
        for _ in range(rounds):
            few_rates.append(await few(count))
            many_rates.append(await many(count))
            print(f"{NAMES[side]}: {few_rates[-1]:,.0f} and {many_rates[-1]:,.0f} turns/s", flush=True)
    return few_rates, many_rates


def measure(url: str, rounds: int, count: int) -> list[Line]:
    few: dict[str, list[float]] = {}
    many: dict[str, list[float]] = {}
    for _ in range(rounds):
        for side in _SIDES:
            turns = max(100, count // (100 if side == "procrastinate" else 4))
            found = uvloop.run(_both(url, side, 1, turns))
            few.setdefault(side, []).extend(found[0])
            many.setdefault(side, []).extend(found[1])
    lines = []
    for side, name in NAMES.items():
        lines += _lines(side, name, median(few[side]), median(many[side]))
    ratio = median(many["postgres"]) / median(many["procrastinate"])
    beside = f"procrastinate, {MANY:,} waiting"
    return [*lines, Line("turns", _named(NAMES["postgres"], MANY), median(many["postgres"]), "turns/s", ratio, beside)]


def _lines(side: str, name: str, few: float, many: float) -> list[Line]:
    """What must be reached is a rate on PostgreSQL, and on ours that many who wait cost nothing."""
    wanted = (few / WANTED, f"{WANTED:,} turns/s", 1.0) if side == "postgres" else (None, None, None)
    flat = 0.9 if name.startswith("Waypost") else None
    return [
        Line("turns", _named(name, FEW), few, "turns/s", *wanted),
        Line("turns", _named(name, MANY), many, "turns/s", many / few, f"with {FEW} waiting", flat),
    ]


def _named(name: str, waiting: int) -> str:
    return f"{name}, {waiting:,} waiting"

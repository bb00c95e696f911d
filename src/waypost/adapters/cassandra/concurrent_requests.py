"""Runs a bounded number of requests concurrently: a node answers a few hundred as fast as one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

IN_FLIGHT = 256


async def run_all(work: Callable[[T], Awaitable[object]], items: Collection[T]) -> None:
    """Run all of them; the first failure cancels the rest and is raised."""
    if len(items) == 1:
        (only,) = items
        await work(only)
        return
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(len(items), IN_FLIGHT)):
                group.create_task(worker())
    except BaseExceptionGroup as failures:
        raise _first(failures) from None


def _first(failures: BaseException) -> BaseException:
    return _first(failures.exceptions[0]) if isinstance(failures, BaseExceptionGroup) else failures


async def gather_in_order(work: Callable[[T], Awaitable[R]], items: Iterable[T]) -> list[R]:
    """The result of each item, in order."""
    wanted = list(items)
    found: dict[int, R] = {}

    async def one(number: int) -> None:
        found[number] = await work(wanted[number])

    await run_all(one, range(len(wanted)))
    return [found[number] for number in range(len(wanted))]

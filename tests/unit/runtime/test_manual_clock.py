"""The clock that tests move by hand."""

from __future__ import annotations

import asyncio

from waypost.model.time import Span, seconds
from waypost_testing.clock import START, ManualClock


async def settle_down() -> None:
    """Let every task run as far as it can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_it_stands_still_until_it_is_moved() -> None:
    clock = ManualClock()
    sleeping = asyncio.ensure_future(clock.sleep(seconds(1)))
    await settle_down()
    assert (clock.now(), clock.monotonic(), sleeping.done()) == (START, 0.0, False)
    clock.advance(seconds(1))
    await sleeping
    assert (clock.now(), clock.monotonic()) == (START + seconds(1), 1.0)


async def test_sleepers_wake_in_the_order_of_their_time() -> None:
    clock = ManualClock()
    woken: list[float] = []

    async def sleep(length: float) -> None:
        await clock.sleep(seconds(length))
        woken.append(length)

    sleepers = [asyncio.ensure_future(sleep(length)) for length in (3, 1, 2, 9)]
    await settle_down()
    clock.advance(seconds(5))
    await settle_down()
    assert woken == [1, 2, 3]
    clock.advance(seconds(5))
    await asyncio.gather(*sleepers)
    assert woken == [1, 2, 3, 9]


async def test_a_jump_of_the_wall_clock_wakes_nobody() -> None:
    clock = ManualClock()
    sleeping = asyncio.ensure_future(clock.sleep(seconds(1)))
    await settle_down()
    clock.jump(seconds(60))
    await settle_down()
    assert not sleeping.done()
    assert (clock.now(), clock.monotonic()) == (START + seconds(60), 0.0)
    clock.jump(Span(-seconds(90)))
    assert clock.now() == START - seconds(30)
    clock.advance(seconds(1))
    await sleeping

"""A list of very many conversations, scrolled by the wheel, then by End as far as it goes in a few seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

from playwright.async_api import Browser, Page

from bench.page_browser import BOX, NOTHING, MainThread, Seen, live, percentile, signed_in, start, stop
from bench.page_trace import Traced, traced
from bench.table import Line

_ROUNDS = 3
_IDLE = 2.0
_SPEED = 6_000
"""Pixels a second: about 80 rows."""
_DISTANCE = 15_000
_HOLD_END = 8.0
_KNOWN = """(() => {
  const list = document.querySelector('nav [role=list]');
  return list.offsetHeight / list.firstChild.offsetHeight;
})()"""
NO_JANK_MS = 34.0
BESIDE_IDLE = 1.5


async def _seen(browser: Browser, page: Page, do: Callable[[], Awaitable[object]]) -> tuple[Seen, Traced]:
    await start(page, BOX)
    told = await traced(browser, page, do)
    return await stop(page), told


async def _by_wheel(page: Page) -> None:
    box = await page.locator(BOX).bounding_box()
    assert box is not None
    cdp = await page.context.new_cdp_session(page)
    where = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    how = {"yDistance": -_DISTANCE, "speed": _SPEED, "gestureSourceType": "mouse"}
    await cdp.send("Input.synthesizeScrollGesture", {**where, **how})


async def _by_end(page: Page) -> None:
    await page.locator(BOX).focus()
    until = time.monotonic() + _HOLD_END
    while time.monotonic() < until:
        await page.keyboard.press("End")


async def measure(browser: Browser, url: str) -> list[Line]:
    idle, scrolled, told = NOTHING, NOTHING, Traced()
    async with signed_in(browser, url) as page:
        await live(page, url)
        main = await MainThread.of(page)
        for _ in range(_ROUNDS):
            idle += (await _seen(browser, page, partial(asyncio.sleep, _IDLE)))[0]
            with_wheel = await main.during(_seen(browser, page, partial(_by_wheel, page)))
            scrolled, told = scrolled + with_wheel[0], told + with_wheel[1]
        rows, share = await page.evaluate(_KNOWN), main.share
        end, _ = await main.during(_seen(browser, page, partial(_by_end, page)))
        deep, deep_share = await page.evaluate(_KNOWN), main.share
    print(f"at rest: {idle}\nwheel, {rows:,.0f} rows: {scrolled}, {scrolled.empty} with holes\ntrace: {told}")
    print(f"End held, {deep:,.0f} rows: {end}", flush=True)
    at_rest, p95 = percentile(idle.gaps, 0.95), percentile(scrolled.gaps, 0.95)
    name = f"50,000 conversations, wheel over {rows:,.0f}"
    return [
        Line("page", "inbox at rest, frame p95", at_rest, "ms"),
        Line("page", f"{name}, frame p50", percentile(scrolled.gaps, 0.5), "ms"),
        Line("page", f"{name}, frame p95", p95, "ms", goal=max(NO_JANK_MS, BESIDE_IDLE * at_rest)),
        Line("page", f"{name}, frame p99", percentile(scrolled.gaps, 0.99), "ms"),
        Line("page", f"{name}, frames over 50 ms, at rest {idle.janky} of {len(idle.gaps)}", scrolled.janky, "frames"),
        Line("page", f"{name}, dropped of {told.shown + told.dropped} in the trace", told.dropped, "frames"),
        Line("page", f"{name}, longest task", scrolled.longest_task, "ms"),
        Line("page", f"{name}, longest task by its thread's own clock", told.task, "ms"),
        Line("page", f"{name}, main thread's share of a core", share, "cores"),
        Line("page", f"End held {_HOLD_END:.0f} s, {deep:,.0f} rows read, frame p95", percentile(end.gaps, 0.95), "ms"),
        Line("page", f"End held {_HOLD_END:.0f} s, main thread's share of a core", deep_share, "cores"),
        Line("page", f"JavaScript heap with {deep:,.0f} rows", end.heap / 1e6, "MB"),
    ]

"""A list of very many conversations, scrolled by the wheel: from its top, and when all of it has been read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

from playwright.async_api import Browser, Page

from bench.page_browser import BOX, NOTHING, MainThread, Seen, live, percentile, signed_in, start, stop
from bench.page_rows import CONVERSATIONS
from bench.page_trace import Traced, traced
from bench.table import Line

_ROUNDS = 2
_IDLE = 2.0
_SPEED = 6_000
"""Pixels a second: about 80 rows."""
_DISTANCE = 15_000
_READING = 25.0
_TO_THE_END = """async (box, [rows, ms]) => {
  const until = performance.now() + ms;
  const height = box.querySelector('[role=listitem]').offsetHeight;
  while (box.scrollHeight < rows * height && performance.now() < until) {
    box.scrollTop = box.scrollHeight;
    await new Promise(requestAnimationFrame);
  }
  box.scrollTop = 0;
}"""
_KNOWN = """(() => {
  const list = document.querySelector('nav [role=list]');
  return list.offsetHeight / list.firstChild.offsetHeight;
})()"""
_NO_JANK = 34.0
_BESIDE = 1.5


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


async def _read_all(page: Page) -> None:
    """Set-up: all of the list, or what can be read in some seconds, in as large pages as the server gives."""
    await page.evaluate("probe.large = true")
    box, all_of_it = await page.locator(BOX).element_handle(), [CONVERSATIONS, _READING * 1e3]
    assert box is not None
    await box.evaluate(_TO_THE_END, all_of_it)
    await page.evaluate("probe.large = false")


async def _rounds(browser: Browser, page: Page, name: str) -> list[Line]:
    idle, scrolled, told = NOTHING, NOTHING, Traced()
    main = await MainThread.of(page)
    for _ in range(_ROUNDS):
        idle += (await _seen(browser, page, partial(asyncio.sleep, _IDLE)))[0]
        with_wheel = await main.during(_seen(browser, page, partial(_by_wheel, page)))
        scrolled, told = scrolled + with_wheel[0], told + with_wheel[1]
    print(f"at rest: {idle}\n{name}: {scrolled}, {scrolled.empty} with holes\ntrace: {told}", flush=True)
    at_rest, p95 = percentile(idle.gaps, 0.95), percentile(scrolled.gaps, 0.95)
    return [
        Line("page", f"{name}: frame p50", percentile(scrolled.gaps, 0.5), "ms"),
        Line("page", f"{name}: frame p95, at rest {at_rest:.1f} ms", p95, "ms", goal=max(_NO_JANK, _BESIDE * at_rest)),
        Line("page", f"{name}: frame p99", percentile(scrolled.gaps, 0.99), "ms"),
        Line("page", f"{name}: over 50 ms of {len(scrolled.gaps)}, at rest {idle.janky}", scrolled.janky, "frames"),
        Line("page", f"{name}: dropped of {told.shown + told.dropped} in the trace", told.dropped, "frames"),
        Line("page", f"{name}: longest task", scrolled.longest_task, "ms"),
        Line("page", f"{name}: longest task by its thread's clock", told.task, "ms"),
        Line("page", f"{name}: main thread", main.share, "cores"),
    ]


async def measure(browser: Browser, url: str) -> list[Line]:
    """From the top of the list, which is read page by page as it is scrolled."""
    async with signed_in(browser, url) as page:
        await live(page, url)
        return await _rounds(browser, page, f"wheel from the top of {CONVERSATIONS:,}")


async def measure_known(browser: Browser, page: Page) -> list[Line]:
    """When all of them have been read."""
    began = time.monotonic()
    await _read_all(page)
    known = await page.evaluate(_KNOWN)
    print(f"{known:,.0f} conversations read in {time.monotonic() - began:.1f} s", flush=True)
    lines = await _rounds(browser, page, f"wheel with {known:,.0f} read")
    await page.locator(BOX).evaluate("box => { box.scrollTop = 0; }")
    heap: float = await page.evaluate("performance.memory.usedJSHeapSize")
    return [*lines, Line("page", f"JavaScript heap with {known:,.0f} conversations read", heap / 1e6, "MB")]

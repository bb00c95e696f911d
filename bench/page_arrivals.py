"""An agent at work while messages arrive: how fast the page answers a key, and that threads show each message once."""

from __future__ import annotations

import asyncio
import time
from typing import Any, NamedTuple

from playwright.async_api import Browser, Page

from bench.page_browser import MainThread, Seen, live, percentile, signed_in, start, stop
from bench.page_flood import BUNDLE, CUSTOMERS, flood
from bench.page_hands import Work, read_through, work
from bench.page_trace import traced
from bench.table import Line

RATE = 1_000
_SECONDS = 10
_QUIET = 4.0
_LOOKS = 5
_READ = 3
"""Threads that are read from top to end and compared with the API."""
MOST_MS = 200.0


class Busy(NamedTuple):
    """What was seen of a page while an agent worked in it; the same without messages; `share` of a core."""

    calm: Seen
    seen: Seen
    share: float
    task: float
    work: Work


async def _worked(browser: Browser, page: Page, calm: Seen, main: MainThread) -> Busy:
    works: list[Work] = []

    async def do() -> None:
        works.append(await main.during(work(page, time.monotonic() + _SECONDS)))

    await start(page)
    told = await traced(browser, page, do)
    seen, (done,) = await stop(page), works
    assert done.kept == done.typed, f"{done.typed} letters were typed, {done.kept} were there"
    return Busy(calm, seen, main.share, told.task, done)


async def _calm(page: Page) -> Seen:
    await start(page)
    await work(page, time.monotonic() + _QUIET)
    return await stop(page)


async def _texts(page: Page, url: str, conversation: str) -> list[str]:
    """By the API, oldest first."""
    path, cursor, found = f"{url}/api/v1/conversations/{conversation}/messages", None, []
    while True:
        answer = await page.request.get(path, params={"limit": 100} | ({"cursor": cursor} if cursor else {}))
        read = await answer.json()
        found += [message["content"].get("text", "") for message in read["messages"]]
        cursor = read["next_cursor"]
        if not read["has_more"]:
            return [text for text in reversed(found) if text.startswith("Line ")]


async def _compare(page: Page, url: str, opened: list[str]) -> int:
    """How many messages were read; each was there once, in order."""
    count = 0
    for conversation in opened[-_READ:]:
        said, shown = await _texts(page, url, conversation), await read_through(page, conversation, "Line ")
        for _ in range(_LOOKS):  # the last ones may be on their way
            if shown != said:
                shown = await read_through(page, conversation, "Line ")
        assert shown == said, f"conversation {conversation} shows {len(shown)} lines, the API {len(said)}: {shown}"
        count += len(shown)
    assert count, "none of those who wrote was opened"
    return count


async def measure(browser: Browser, url: str) -> list[Line]:
    """Webhooks to the real server, which shares the machine's cores with the browser."""
    await flood(url, 0, CUSTOMERS, CUSTOMERS)
    async with signed_in(browser, url) as page:
        await live(page, url)
        main, calm = await MainThread.of(page), await _calm(page)
        arriving = asyncio.ensure_future(flood(url, CUSTOMERS, RATE * _SECONDS, RATE))
        busy = await _worked(browser, page, calm, main)
        arrived = await arriving
        assert not arrived.refused, f"{arrived.refused} webhooks were refused"
        compared = await _compare(page, url, busy.work.opened)
    print(f"webhooks: {arrived}", flush=True)
    asked = f"webhooks of {BUNDLE}, {RATE:,} messages/s asked of the real server"
    reached = Line("page", asked, arrived.per_second, "messages/s")
    return [reached, *_lines("real server", busy, compared)]


async def measure_page(browser: Browser, page: Page, url: str) -> list[Line]:
    """By the stand-in, which keeps the rate whatever the server does."""
    main, calm = await MainThread.of(page), await _calm(page)
    asked = {"rows": await _rows(page, url), "count": RATE * _SECONDS, "rate": RATE}
    arriving = asyncio.ensure_future(page.request.post(f"{url}/flood", data=asked, timeout=60_000))
    busy = await _worked(browser, page, calm, main)
    told = await (await arriving).json()
    compared = await _compare(page, url, busy.work.opened)
    print(f"stand-in: {told}", flush=True)
    return _lines(f"stand-in, {RATE * _SECONDS / told['seconds']:,.0f} messages/s", busy, compared)


async def _rows(page: Page, url: str) -> list[dict[str, Any]]:
    """The conversations of the customers who write, as the API lists them: they wrote last."""
    rows: list[dict[str, Any]] = []
    cursor: str | None = None
    while len(rows) < CUSTOMERS:
        asked: dict[str, str | float | bool] = {"limit": 100, **({"cursor": cursor} if cursor else {})}
        read = await (await page.request.get(f"{url}/api/v1/conversations", params=asked)).json()
        rows, cursor = rows + read["conversations"], read["next_cursor"]
    return rows


def _lines(name: str, busy: Busy, compared: int) -> list[Line]:
    seen, calm = busy.seen, busy.calm
    print(
        f"{name}: {seen}, {len(seen.inputs)} inputs; {compared} messages each once and in order; before: {calm}",
        flush=True,
    )
    p50, p99 = percentile(seen.inputs, 0.5), percentile(seen.inputs, 0.99)
    quiet = percentile(calm.inputs, 0.99)
    return [
        Line("page", f"{name}: input to frame, p50", p50, "ms"),
        Line("page", f"{name}: p99 of {len(seen.inputs)}, without messages {quiet:.0f} ms", p99, "ms", goal=MOST_MS),
        Line("page", f"{name}: frame p95", percentile(seen.gaps, 0.95), "ms"),
        Line("page", f"{name}: longest task", seen.longest_task, "ms"),
        Line("page", f"{name}: longest task by its thread's clock", busy.task, "ms"),
        Line("page", f"{name}: main thread", busy.share, "cores"),
        Line("page", f"{name}: shown once and in order, as the API has them", compared, "messages"),
    ]

"""The team's inbox in Chromium: its weight, its first paint, 50,000 conversations scrolled, 1,000 messages a second.

Frames and answers to input stand beside those of the same page at rest, in the same run: on a busy machine the ratio
counts. What the page's main thread takes by its own clock is what a busy machine does not lengthen.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvloop
from playwright.async_api import Browser

from bench import page_arrivals, page_first_view, page_rows, page_scroll
from bench.page_browser import live, signed_in
from bench.peers.serving import running
from bench.table import Line
from tools.chromium import chromium
from tools.page import build


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """A whole one on SQLite, with its page and its inbox full."""
    ledger = f"sqlite:///{folder}/waypost.db"
    uvloop.run(page_rows.prepare(ledger))
    with running("bench.waypost_live", ["--url", ledger]) as (_, port):
        yield f"http://127.0.0.1:{port}"


async def _look(url: str) -> list[Line]:
    lines: list[Line] = []
    async with chromium("--enable-precise-memory-info") as browser:
        for part in (page_first_view.measure, page_scroll.measure, page_arrivals.measure):
            lines += await part(browser, url)
        lines += await _by_the_stand_in(browser, url)
    return lines


async def _by_the_stand_in(browser: Browser, server_url: str) -> list[Line]:
    with running("bench.page_stand_in", [server_url]) as (_, port):
        url = f"http://127.0.0.1:{port}"
        async with signed_in(browser, url) as page:
            await live(page, url)
            known = await page_scroll.measure_known(browser, page)
            return known + await page_arrivals.measure_page(browser, page, url)


def measure(_url: str, _rounds: int, _count: int) -> list[Line]:
    build()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, server(Path(folder)) as url:
        return asyncio.run(_look(url))

"""An agent at work in a page: opens another conversation, writes, scrolls, over and over; and reads threads through."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import NamedTuple

from playwright.async_api import Page

from bench.page_browser import ROW

_LETTERS = "I will look into that at once, and call you back before noon. "
_BETWEEN_KEYS = 0.02
_LOG = "[role=log]"
_LINES = "[...document.querySelectorAll('[role=log] [data-index]')].map(e => [+e.dataset.index, e.innerText])"


class Work(NamedTuple):
    typed: int
    kept: int
    """How many of the letters were in the composer in the end."""
    opened: list[str]
    """Conversations, in the order in which they were first opened."""


async def work(page: Page, until: float) -> Work:
    """Until this moment of the monotonic clock."""
    typed = kept = 0
    opened: dict[str, None] = {}
    while time.monotonic() < until:
        opened[await _open_another(page, len(opened))] = None
        typed_here = await _write(page)
        typed += typed_here
        kept += len(await page.locator("#composer").input_value())
        await page.keyboard.press("Control+a")
        await page.keyboard.press("Delete")
        await _scroll(page, _LOG)
        await _scroll(page, ROW)
    return Work(typed, kept, list(opened))


async def _open_another(page: Page, turn: int) -> str:
    """Whoever stands in that place of the list at this moment: it moves."""
    before = page.url
    box = await page.locator(ROW).first.locator("xpath=ancestor::nav").bounding_box()
    assert box is not None
    for place in range(4):
        await page.mouse.click(box["x"] + 150, box["y"] + 200 + 76 * ((turn + place) % 5))
        if page.url != before:
            break
    await page.locator("#composer").wait_for()
    return page.url.rpartition("/")[2]


async def _write(page: Page) -> int:
    await page.locator("#composer").focus()
    for letter in _LETTERS:
        await page.keyboard.type(letter)
        await asyncio.sleep(_BETWEEN_KEYS)
    return len(_LETTERS)


async def _scroll(page: Page, where: str) -> None:
    box = await page.locator(where).first.bounding_box()
    if box is None:
        return
    await page.mouse.move(box["x"] + box["width"] / 2, box["y"] + min(box["height"] / 2, 300))
    for step in (-300, -300, 300, 400):
        await page.mouse.wheel(0, step)
        await asyncio.sleep(_BETWEEN_KEYS)


async def read_through(page: Page, conversation: str, is_wanted: str) -> list[str]:
    """Every line of the thread that has these words in it, as the page has them: nothing is loaded anew."""
    await page.evaluate(_GO, f"/inbox/{conversation}")
    log = page.locator(_LOG)
    await log.locator("[data-index]").first.wait_for()
    await _to_the_top(page)
    found: dict[int, str] = {}
    while True:
        found.update(await page.evaluate(_LINES))
        if not await page.evaluate(_DOWN):
            break
        await _a_frame(page)
    lines: Iterable[str] = (found[index] for index in sorted(found))
    return [line for text in lines for line in text.splitlines() if is_wanted in line]


_GO = "path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }"
_DOWN = """(() => {
  const log = document.querySelector('[role=log]');
  const before = log.scrollTop;
  log.scrollTop += log.clientHeight * 0.6;
  return log.scrollTop > before;
})()"""


async def _to_the_top(page: Page) -> None:
    """Again and again: pages before come in sight."""
    quiet = 0
    while quiet < 10:
        moved = await page.evaluate(
            "(() => { const log = document.querySelector('[role=log]'); const at = log.scrollTop;"
            " log.scrollTop = 0; return at > 0 || log.ariaBusy === 'true'; })()"
        )
        quiet = 0 if moved else quiet + 1
        await _a_frame(page)


async def _a_frame(page: Page) -> None:
    await page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))")

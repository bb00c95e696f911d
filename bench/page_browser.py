"""Debian's Chromium on the team's inbox, with a probe in it that notes frames, long tasks and answers to input."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from playwright.async_api import Browser, BrowserContext, CDPSession, Page

from bench import waypost_live
from bench.page_rows import AGENT

_PROBE = Path(__file__).with_name("page_probe.js").read_text()
ROW = 'a[href^="/inbox/"]'
BOX = "nav :has(> [role=list] > [role=listitem])"
"""What scrolls the list."""
_FRAME = 1000 / 60
_Done = TypeVar("_Done")
JANK = 50


class Seen(NamedTuple):
    """Milliseconds, what a probe noted between its start and its stop; `heap` in bytes."""

    gaps: list[float]
    tasks: list[float]
    inputs: list[float]
    empty: int
    """Frames in which a part of the list in sight was not drawn."""
    heap: int

    def __add__(self, other: Seen) -> Seen:  # type: ignore[override]  # what was noted in two spans, not a longer tuple
        gaps, tasks, inputs = self.gaps + other.gaps, self.tasks + other.tasks, self.inputs + other.inputs
        return Seen(gaps, tasks, inputs, self.empty + other.empty, max(self.heap, other.heap))

    @property
    def janky(self) -> int:
        return sum(gap > JANK for gap in self.gaps)

    @property
    def dropped(self) -> int:
        """Frames that a screen of 60 a second would have shown, and did not."""
        return sum(max(0, round(gap / _FRAME) - 1) for gap in self.gaps)

    @property
    def longest_task(self) -> float:
        """0: none was over 50 ms, and shorter ones are not told."""
        return max(self.tasks, default=0)

    def __str__(self) -> str:
        frames = " / ".join(f"{percentile(self.gaps, share):.1f}" for share in (0.5, 0.95, 0.99))
        told = (
            f"{len(self.gaps)} frames, p50 / p95 / p99 {frames} ms, {self.janky} over {JANK} ms, {self.dropped} dropped"
        )
        return f"{told}, longest task {self.longest_task:.0f} ms ({len(self.tasks)}), heap {self.heap / 1e6:.0f} MB"


NOTHING = Seen([], [], [], 0, 0)


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


@asynccontextmanager
async def signed_in(browser: Browser, url: str) -> AsyncIterator[Page]:
    """A tab with an empty cache, as the agent."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    try:
        await context.add_init_script(_PROBE)
        await _sign_in(context, url)
        page = await context.new_page()
        page.set_default_timeout(20_000)
        broken: list[str] = []
        page.on("pageerror", lambda error: broken.append(str(error)))
        yield page
        assert not broken, broken
    finally:
        await context.close()


async def _sign_in(context: BrowserContext, url: str) -> None:
    answer = await context.request.post(f"{url}/api/v1/session", data={"token": waypost_live.token(AGENT)})
    assert answer.ok, await answer.text()


async def live(page: Page, url: str) -> None:
    """Opens the inbox; returns when the list is there and follows the server."""
    await page.goto(f"{url}/inbox")
    await page.locator(ROW).first.wait_for()
    await page.get_by_role("status").filter(has_text="Live").wait_for()


async def start(page: Page, box: str | None = None) -> None:
    await page.evaluate("box => probe.start(box)", box)


async def stop(page: Page) -> Seen:
    found: dict[str, Any] = await page.evaluate("probe.stop()")
    return Seen(**found)


class MainThread:
    """The time that a page's main thread works, by its own clock: waiting for a core is not in it."""

    def __init__(self, cdp: CDPSession) -> None:
        self._cdp = cdp
        self._worked = self._passed = 0.0

    @classmethod
    async def of(cls, page: Page) -> MainThread:
        cdp = await page.context.new_cdp_session(page)
        await cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
        return cls(cdp)

    @property
    def share(self) -> float:
        """Of a core, since this was last asked."""
        share = self._worked / self._passed
        self._worked = self._passed = 0.0
        return share

    async def during(self, doing: Awaitable[_Done]) -> _Done:
        before, began = await self._time(), time.monotonic()
        done = await doing
        self._worked += await self._time() - before
        self._passed += time.monotonic() - began
        return done

    async def _time(self) -> float:
        metrics = (await self._cdp.send("Performance.getMetrics"))["metrics"]
        return next(float(each["value"]) for each in metrics if each["name"] == "TaskDuration")

"""The browser's own trace of a span: which frames were shown, how long tasks took by their thread's clock."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from playwright.async_api import Browser, Page

_CATEGORIES = ["-*", "disabled-by-default-devtools.timeline.frame", "disabled-by-default-devtools.timeline"]
_MAIN = "CrRendererMain"
_SHOWN = ("STATE_PRESENTED_ALL", "STATE_PRESENTED_PARTIAL")


class Traced(NamedTuple):
    shown: int = 0
    dropped: int = 0
    unfinished: int = 0
    """Shown with a part that was not drawn yet."""
    task: float = 0
    """The longest of the main thread in milliseconds; waiting for a core is not in it."""

    def __add__(self, other: Traced) -> Traced:  # type: ignore[override]  # of two spans, not a longer tuple
        frames = self.shown + other.shown, self.dropped + other.dropped, self.unfinished + other.unfinished
        return Traced(*frames, task=max(self.task, other.task))


async def traced(browser: Browser, page: Page, do: Callable[[], Awaitable[object]]) -> Traced:
    await browser.start_tracing(page=page, categories=_CATEGORIES)
    await do()
    events = json.loads(await browser.stop_tracing())["traceEvents"]
    frames = [each["args"]["frame_reporter"] for each in events if _is_frame(each)]
    states = Counter(frame["state"] for frame in frames)
    unfinished = sum(frame["checkerboarded_needs_raster"] or frame["checkerboarded_needs_record"] for frame in frames)
    return Traced(sum(states[each] for each in _SHOWN), states["STATE_DROPPED"], unfinished, _longest_task(events))


def _is_frame(event: dict[str, Any]) -> bool:
    return event["name"] == "PipelineReporter" and "frame_reporter" in event["args"]


def _longest_task(events: list[dict[str, Any]]) -> float:
    names = [each for each in events if each["name"] == "thread_name" and each["args"]["name"] == _MAIN]
    mains = {(each["pid"], each["tid"]) for each in names}
    tasks = (each for each in events if each["name"] == "RunTask" and (each["pid"], each["tid"]) in mains)
    return max((float(each.get("tdur", 0)) / 1e3 for each in tasks), default=0)

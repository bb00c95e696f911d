"""Debian's Chromium on the page of a demo, as a person at a desk or with a phone in the hand."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest
from playwright.async_api import Browser, Page, expect

from tests.acceptance.stage.harness import until
from tools.chromium import ChromiumMissing, chromium
from tools.node import NodeMissing
from tools.page import WEB, build

Colours: TypeAlias = Literal["light", "dark"]
DESKTOP, PHONE = (1280, 800), (390, 780)
PATIENCE_MS = 30_000
"""For whatever a page shows or lets one do: a busy machine takes its time, and only what is wrong waits so long."""
expect.set_options(timeout=PATIENCE_MS)
SETTLES_SEC = 10
SERIOUS = ("serious", "critical")
KNOWS_THE_DEMO = """
localStorage.getItem("waypost.phone") ?? localStorage.setItem("waypost.phone", "hidden");
localStorage.getItem("waypost.first-steps") ?? localStorage.setItem("waypost.first-steps", '{"closed": true}');
"""
PICTURES = os.environ.get("WAYPOST_TEST_PICTURES")
"""A folder: what the page looks like is kept there, to be looked at."""


@dataclass
class Tab:
    """One page, and what went wrong on it."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    async def picture(self, name: str) -> None:
        if PICTURES is not None:
            await self.page.screenshot(path=Path(PICTURES) / f"{name}.png")

    async def accessible(self) -> None:
        await self.page.evaluate((WEB / "node_modules" / "axe-core" / "axe.min.js").read_text())
        found: list[dict[str, Any]] = (await self.page.evaluate("axe.run()"))["violations"]
        told = [(each["id"], [node["html"] for node in each["nodes"]]) for each in found if each["impact"] in SERIOUS]
        assert not told, json.dumps(told, indent=1)

    async def uncut(self, *, dots: bool = True) -> None:
        """No text ends where its box does, unless it may say so with three dots; nothing is wider than the screen.

        Without `dots` only the main part is looked at, and has none. A page that was made narrower a moment ago may
        still be drawing itself.
        """
        cut: list[str] = []

        async def fits() -> bool:
            cut[:] = await self.page.evaluate(CUT, dots)
            return not cut

        with suppress(AssertionError):
            await until(fits, "no text is cut", SETTLES_SEC)
        assert not cut, json.dumps(cut, indent=1)


CUT = """(dots) => {
  const hides = (flow) => flow === "hidden" || flow === "clip";
  const isDotted = (style) => (dots && style.textOverflow === "ellipsis") || style.webkitLineClamp !== "none";
  const isCut = (box) => {
    const style = getComputedStyle(box);
    if (box.clientWidth <= 1 || !box.checkVisibility({ visibilityProperty: true }) || isDotted(style)) return false;
    const wide = hides(style.overflowX) && box.scrollWidth > box.clientWidth + 1;
    const tall = hides(style.overflowY) && box.scrollHeight > box.clientHeight + 2;
    return (wide || tall) && box.innerText.trim() !== "";
  };
  const boxes = [...document.querySelectorAll(dots ? "body *" : "main *")];
  const found = boxes.filter((box) => box instanceof HTMLElement && isCut(box));
  const whole = [document.documentElement, ...document.querySelectorAll("main")];
  found.push(...whole.filter((box) => box.scrollWidth > box.clientWidth));
  return found.map((box) => box.outerHTML.slice(0, 300));
}"""


@functools.cache
def built_page() -> None:
    try:
        build()
    except NodeMissing as missing:
        pytest.skip(str(missing))


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    try:
        async with chromium() as running:
            yield running
    except ChromiumMissing as missing:
        pytest.skip(str(missing))


@asynccontextmanager
async def tab(
    of: Browser, size: tuple[int, int] = DESKTOP, colours: Colours = "light", *, newcomer: bool = False
) -> AsyncIterator[Tab]:
    """A person of its own: another tab has other cookies. Nothing may be refused by the page's policy, or break.

    Only a newcomer is shown the demo's phone and what to try first.
    """
    context = await of.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=colours, reduced_motion="reduce"
    )
    if not newcomer:
        await context.add_init_script(KNOWS_THE_DEMO)
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    opened = Tab(page)
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    page.on("console", lambda said: _hear(opened, said.type, said.text))
    try:
        yield opened
        assert not opened.complaints, opened.complaints
    finally:
        await context.close()


def _hear(opened: Tab, kind: str, text: str) -> None:
    """A server that is away, and an answer that is a refusal, are what some tests are about."""
    if kind == "error" and "Failed to load resource" not in text and "WebSocket connection" not in text:
        opened.complaints.append(text)

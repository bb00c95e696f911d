"""Debian's Chromium, for tests, benchmarks and pictures."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

from waypost_testing.services.processes import find_program

OPTIONS = (
    "--no-sandbox",  # its own sandbox needs rights that root in a container may lack
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class ChromiumMissing(Exception):
    """Chromium is not installed on this machine."""


@asynccontextmanager
async def chromium(*more: str) -> AsyncIterator[Browser]:
    """Run it with these options added."""
    program = find_program("chromium")
    if program is None:
        raise ChromiumMissing("there is no chromium on this machine")
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=program, args=[*OPTIONS, *more])
        try:
            yield running
        finally:
            await running.close()

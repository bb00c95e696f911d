"""The first view of the inbox: what is loaded for it, and when it is painted, with nothing in the browser's cache."""

from __future__ import annotations

from statistics import median
from typing import Any, NamedTuple

from playwright.async_api import Browser, Page

from bench.page_browser import live, signed_in
from bench.table import Line

_ROUNDS = 5
_BARE = "/healthz"
_MOST_KB = 350.0
_PAINTS = "Object.fromEntries(performance.getEntriesByType('paint').map(({ name, startTime }) => [name, startTime]))"


class Loaded(NamedTuple):
    """Bytes over the wire, heads included, and requests: of the page's own files, and of the API."""

    page: int
    page_requests: int
    api: int
    api_requests: int


async def _load(browser: Browser, url: str, encoding: str) -> Loaded:
    async with signed_in(browser, url) as page:
        cdp = await page.context.new_cdp_session(page)
        await cdp.send("Network.enable")
        await page.set_extra_http_headers({"accept-encoding": encoding})
        addresses: dict[str, str] = {}
        sizes: dict[str, float] = {}
        encodings: set[str] = set()

        def asked(event: dict[str, Any]) -> None:
            addresses[event["requestId"]] = event["request"]["url"]

        def on_response(event: dict[str, Any]) -> None:
            encodings.add(event["response"]["headers"].get("content-encoding", ""))

        def came(event: dict[str, Any]) -> None:
            sizes[event["requestId"]] = event["encodedDataLength"]

        cdp.on("Network.requestWillBeSent", asked)
        cdp.on("Network.responseReceived", on_response)
        cdp.on("Network.loadingFinished", came)
        await live(page, url)
    assert encodings - {""} == {encoding}, encodings
    api = [size for each, size in sizes.items() if "/api/" in addresses[each]]
    own = [size for each, size in sizes.items() if "/api/" not in addresses[each]]
    return Loaded(int(sum(own)), len(own), int(sum(api)), len(api))


async def _painted(page: Page) -> dict[str, float]:
    """Milliseconds since the address was entered."""
    await page.wait_for_function("performance.getEntriesByType('paint').length >= 2")
    found: dict[str, float] = await page.evaluate(_PAINTS)
    return found


async def _times(browser: Browser, url: str) -> dict[str, float]:
    async with signed_in(browser, url) as page:
        await page.goto(url + _BARE)
        bare = await _painted(page)
    async with signed_in(browser, url) as page:
        await live(page, url)
        painted = await _painted(page)
        shown: float = await page.evaluate("probe.shown")
    return {
        "bare": bare["first-contentful-paint"],
        "first paint": painted["first-paint"],
        "first contentful paint": painted["first-contentful-paint"],
        "list shown": shown,
    }


async def measure(browser: Browser, url: str) -> list[Line]:
    gzip, brotli = await _load(browser, url, "gzip"), await _load(browser, url, "br")
    print(f"first view: gzip {gzip}, brotli {brotli}", flush=True)
    times = [await _times(browser, url) for _ in range(_ROUNDS)]
    middle = {name: median(each[name] for each in times) for name in times[0]}
    print(f"first view, medians of {_ROUNDS} in ms: {middle}", flush=True)
    bare = middle.pop("bare")
    return [
        Line("page", "first view, its files, gzip", gzip.page / 1e3, "KB", goal=_MOST_KB),
        Line("page", "first view, its files, brotli", brotli.page / 1e3, "KB"),
        Line("page", "first view, requests for its files", gzip.page_requests, "requests"),
        Line("page", "first view, requests to the API", gzip.api_requests, "requests"),
        Line("page", f"bare page ({_BARE}), first contentful paint", bare, "ms"),
        *(Line("page", f"inbox, {name}", time, "ms", time / bare, "bare page") for name, time in middle.items()),
    ]

"""What people do on the page and customers on their phones, in the tests of every part of it."""

from __future__ import annotations

import struct
import zlib
from typing import Any

from playwright.async_api import Locator, Page

from tests.acceptance.conftest import Place
from tests.acceptance.stage.browser import built_page
from tests.acceptance.stage.clients import Api, Sandbox
from tests.acceptance.stage.harness import Site, until
from tests.acceptance.stage.laptop import bare

HOSTILE = '<img src=x onerror="document.title=1"><b>bold</b>'
"""As a name, a text or a value: it is shown, and nothing more."""


def with_page(place: Place) -> Site:
    """A laptop on which the demo has its page, and a bot that does not wait long for the rest of a burst."""
    built_page()
    here = bare(place("sqlite"))
    here.settings["WAYPOST_TURN_QUIET_SEC"] = "0.2"
    return here


async def says(sandbox: Sandbox, phone: str, name: str, what: str | dict[str, Any]) -> None:
    """A text, or a message as the provider tells it."""
    said = {"text": what} if isinstance(what, str) else {"message": what}
    answer = await sandbox.ask("POST", f"/_sandbox/phones/{phone}/say", {**said, "name": name})
    assert answer.status == 200, answer


async def signs_in(page: Page, address: str, token: str) -> None:
    await page.goto(address)
    await page.get_by_label("Token").fill(token)
    await page.get_by_role("button", name="Sign in").click()


async def sends(page: Page, text: str) -> None:
    await page.get_by_label("Your message").fill(text)
    await page.get_by_label("Your message").press("Enter")


def connection(page: Page) -> Locator:
    """The badge at the top; other parts of a page have a status too."""
    return page.get_by_role("banner").get_by_role("status")


def bubble(page: Page, text: str) -> Locator:
    return page.get_by_role("log").locator("[data-kind]").filter(has_text=text)


async def is_indexed(api: Api, word: str) -> None:
    """A message can be found a moment after it was written, and the page asks only once."""

    async def found() -> bool:
        return bool((await api.get(f"/api/v1/search?q={word}"))["results"])

    await until(found, f"a search finds {word}")


def picture(width: int = 60, height: int = 40) -> bytes:
    """A PNG that a browser shows."""
    rows = b"".join(
        b"\0" + b"".join(bytes([x * 4 % 256, y * 6 % 256, 120]) for x in range(width)) for y in range(height)
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)

"""Take the front page's pictures: a newcomer's path is played on a demo, in Chromium, and what it shows is kept.

`docs/pictures/inbox.png` is one look, `docs/pictures/demo.webp` moves. Chromium makes the frames, each only as large as
what changed; this script puts them together, so that no library for pictures is needed.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from playwright.async_api import Locator, Page, ViewportSize, expect

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # as a script it sees only its own folder

from tools.chromium import chromium  # noqa: E402  # needs the line above

PICTURES = ROOT / "docs" / "pictures"
WIDTH, HEIGHT = 1280, 800
LARGEST = 600_000
"""Bytes: it is loaded with the front page."""
QUALITY = 0.78
CROWD = {
    "15550002222": ("Grace Hopper", "Do you ship to Norway?"),
    "15550003333": ("Lin Chen", "Thank you, it works!"),
    "15550004444": ("Mary Jackson", "Can I pay by invoice?"),
    "15550005555": ("Edith Clarke", "The blue one, please."),
}
QUESTION, ANSWER = "Where is my lamp?", "It is on its way: tomorrow between 9 and 12."
OFFER, STILL = "Or shall I keep it in the shop for you?", "It waits at the counter, whenever you come."

CHANGED = """
async ([png, quality]) => {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const { width, height } = image;
  const whole = new OffscreenCanvas(width, height).getContext("2d", { alpha: false, willReadFrequently: true });
  whole.drawImage(image, 0, 0);
  const now = new Uint32Array(whole.getImageData(0, 0, width, height).data.buffer);
  const before = globalThis.before;
  globalThis.before = now;
  let [left, top, right, bottom] = before ? [width, height, 0, 0] : [0, 0, width, height];
  for (let i = 0; before && i < now.length; i++) {
    if (now[i] === before[i]) continue;
    const [x, y] = [i % width, Math.floor(i / width)];
    [left, top] = [Math.min(left, x), Math.min(top, y)];
    [right, bottom] = [Math.max(right, x + 1), Math.max(bottom, y + 1)];
  }
  if (right <= left) return null;
  [left, top] = [left - (left % 2), top - (top % 2)];
  const part = new OffscreenCanvas(right - left, bottom - top);
  part.getContext("2d", { alpha: false }).drawImage(image, -left, -top);
  const bytes = new Uint8Array(await (await part.convertToBlob({ type: "image/webp", quality })).arrayBuffer());
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return [left, top, right - left, bottom - top, text];
}
"""


async def answer(turn: Any) -> str:
    """The bot of these pictures: an echo would say little."""
    said = turn.messages[-1].text
    return ANSWER if "lamp" in said else f"One moment, {turn.contact.name.split()[0]}!"


class Frame(NamedTuple):
    left: int
    top: int
    width: int
    height: int
    picture: bytes
    """A whole WebP file."""
    lasts: int
    """Milliseconds."""


def moving(frames: list[Frame], width: int, height: int) -> bytes:
    """An animated WebP, without end."""
    head = _chunk(b"VP8X", bytes([0b10, 0, 0, 0]) + _three(width - 1) + _three(height - 1))
    loop = _chunk(b"ANIM", struct.pack("<IH", 0, 0))
    body = b"WEBP" + head + loop + b"".join(_frame(frame) for frame in frames)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _frame(frame: Frame) -> bytes:
    place = _three(frame.left // 2) + _three(frame.top // 2) + _three(frame.width - 1) + _three(frame.height - 1)
    over_the_last = bytes([0b10])
    return _chunk(b"ANMF", place + _three(frame.lasts) + over_the_last + _chunk(b"VP8 ", _still(frame.picture)))


def _still(file: bytes) -> bytes:
    """The picture itself out of a WebP file."""
    at = 12
    while at < len(file):
        kind, size = file[at : at + 4], struct.unpack_from("<I", file, at + 4)[0]
        if kind == b"VP8 ":
            return file[at + 8 : at + 8 + size]
        at += 8 + size + size % 2
    raise ValueError("this WebP has no picture without transparency")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def _three(number: int) -> bytes:
    return number.to_bytes(3, "little")


class Camera:
    def __init__(self, page: Page) -> None:
        self.page = page
        self._taken: list[tuple[bytes, int]] = []

    async def take(self, lasts: int) -> None:
        self._taken.append((await self.page.screenshot(caret="hide"), lasts))

    async def develop(self, darkroom: Page) -> list[Frame]:
        """An unchanged frame extends the one before it."""
        frames: list[Frame] = []
        for png, lasts in self._taken:
            part = await darkroom.evaluate(CHANGED, [base64.b64encode(png).decode(), QUALITY])
            if part is None:
                frames[-1] = frames[-1]._replace(lasts=frames[-1].lasts + lasts)
            else:
                left, top, width, height, picture = part
                frames.append(Frame(left, top, width, height, base64.b64decode(picture), lasts))
        return frames


@contextmanager
def demo(data: str) -> Iterator[dict[str, str]]:
    settings = {"WAYPOST_BOT": "pictures:answer", "PYTHONPATH": str(ROOT / "tools"), "WAYPOST_TURN_QUIET_SEC": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WAYPOST_", "WHATSAPP_"))}
    program = str(Path(sys.executable).with_name("waypost"))
    arguments = [program, "demo", "--json", "--port", "0", "--sandbox-port", "0", "--data", data]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, env={**kept, **settings}, text=True) as running:
        try:
            yield json.loads(running.stdout.readline() if running.stdout else "")
        finally:
            running.send_signal(signal.SIGINT)


@asynccontextmanager
async def pages() -> AsyncIterator[tuple[Page, Page]]:
    """The page to capture, and a page to work in."""
    async with chromium() as running:
        size: ViewportSize = {"width": WIDTH, "height": HEIGHT}
        page = await running.new_page(viewport=size, color_scheme="light", reduced_motion="reduce", locale="en-GB")
        page.set_default_timeout(20_000)
        yield page, await running.new_page()


async def come_in(page: Page, facts: dict[str, str]) -> None:
    for phone, (name, text) in CROWD.items():
        url = f"{facts['sandbox_url']}/_sandbox/phones/{phone}/say"
        await page.request.post(url, data={"text": text, "name": name})
    await page.goto(facts["login_url"])
    await expect(phone_of(page).get_by_role("log")).to_contain_text("One moment")
    await expect(page.get_by_role("link", name="Edith Clarke")).to_contain_text("One moment")


def phone_of(page: Page) -> Locator:
    return page.get_by_role("region", name="Phone of")


async def play(page: Page, camera: Camera) -> None:
    """What the front page promises: write, be answered, take over, be read; then trouble, and how it ends."""
    await camera.take(1500)
    await phone_of(page).get_by_role("textbox").fill(QUESTION)
    await camera.take(900)
    await page.keyboard.press("Enter")
    await expect(thread(page)).to_contain_text(QUESTION)
    await camera.take(900)
    await expect(phone_of(page).get_by_role("log")).to_contain_text(ANSWER)
    await read_by_phone(page, ANSWER)
    await camera.take(1600)
    await page.get_by_role("button", name="Take over").click()
    await expect(page.get_by_role("button", name="Hand back")).to_be_visible()
    await camera.take(900)
    await writes(page, camera, OFFER)
    await read_by_phone(page, OFFER)
    await camera.take(1600)


async def make_trouble(page: Page, camera: Camera) -> None:
    trouble = page.get_by_role("region", name="Make trouble")
    await trouble.get_by_role("button", name="Make trouble").click()
    await trouble.get_by_role("switch", name="Provider unavailable").click()
    await expect(trouble).to_contain_text("1 on")
    await camera.take(1500)
    await writes(page, camera, STILL)
    await expect(bubble(page, STILL).get_by_label("Not sent yet")).to_be_visible()
    await camera.take(1500)
    await trouble.get_by_role("button", name="Clear all").click()
    await read_by_phone(page, STILL)
    await camera.take(3000)


def thread(page: Page) -> Locator:
    return page.get_by_role("main").get_by_role("log")


def bubble(page: Page, text: str) -> Locator:
    return thread(page).locator("[data-kind]").filter(has_text=text)


async def read_by_phone(page: Page, text: str) -> None:
    await expect(bubble(page, text).last.get_by_label("Read", exact=True)).to_be_visible(timeout=30_000)


async def writes(page: Page, camera: Camera, text: str) -> None:
    await page.get_by_label("Your message").fill(text)
    await camera.take(900)
    await page.keyboard.press("Enter")
    await expect(bubble(page, text)).to_be_visible()


async def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as data, demo(data) as facts:
        async with pages() as (page, darkroom):
            camera = Camera(page)
            await come_in(page, facts)
            await play(page, camera)
            await page.screenshot(path=PICTURES / "inbox.png", caret="hide")
            await make_trouble(page, camera)
            film = moving(await camera.develop(darkroom), WIDTH, HEIGHT)
    (PICTURES / "demo.webp").write_bytes(film)
    print(f"docs/pictures/inbox.png, docs/pictures/demo.webp ({len(film) // 1000} kB)")
    if len(film) > LARGEST:
        raise SystemExit(f"demo.webp is larger than {LARGEST // 1000} kB")


if __name__ == "__main__":
    asyncio.run(main())

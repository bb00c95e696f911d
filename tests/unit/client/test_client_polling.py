"""A long poll that is always answered at once does not become a storm of polls (B16)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from waypost.client import Client
from waypost.client.reconnect import is_empty_poll
from waypost.client.timing import Timing

PAUSE = 0.1
POLLS = 4
NOTHING = json.dumps({"epoch": "e", "heads": {"user:ann": 0}, "items": [], "resync_required": False}).encode()


@pytest.mark.parametrize(
    ("news", "waited", "vain"), [(False, 0, True), (False, 2499, True), (False, 2500, False), (True, 0, False)]
)
def test_in_vain_was_what_brought_nothing_and_did_not_wait(news: bool, waited: float, vain: bool) -> None:
    assert is_empty_poll(news, waited, 25_000) is vain


class Impatient:
    """A server behind a proxy that blocks sockets and answers every poll at once with nothing."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.enough = asyncio.Event()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")[0]
        polled = b"/sync?" in request
        if polled and b"wait=0" not in request:
            self.asked.append(asyncio.get_running_loop().time())
            if len(self.asked) == POLLS:
                self.enough.set()
        status, body = (b"200 OK", NOTHING) if polled else (b"404 Not Found", b"{}")
        writer.write(b"HTTP/1.1 %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s" % (status, len(body), body))
        await writer.drain()
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def impatient() -> AsyncIterator[tuple[Impatient, str]]:
    proxy = Impatient()
    async with await asyncio.start_server(proxy.answer, "127.0.0.1", 0) as server:
        yield proxy, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_polls_that_nobody_lets_wait_are_asked_with_a_pause_between() -> None:
    timing = Timing(backoff_base=PAUSE * 1000)
    async with impatient() as (proxy, url), Client(url, "token", "phone", timing=timing, random=lambda: 1.0):
        async with asyncio.timeout(20):
            await proxy.enough.wait()
    gaps = [later - earlier for earlier, later in pairwise(proxy.asked)]
    assert min(gaps[: POLLS - 1]) > PAUSE * 0.9

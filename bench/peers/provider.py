"""A Cloud API look-alike that costs almost nothing: it accepts every message and remembers when each one came."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import httptools
import uvloop

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_OUR_ID = re.compile(rb'"biz_opaque_callback_data"\s*:\s*"([^"]*)"')
_TO = re.compile(rb'"to"\s*:\s*"([^"]*)"')
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=UTF-8\r\nContent-Length: %d\r\n\r\n"
_ACCEPTED = (
    b'{"messaging_product":"whatsapp","contacts":[{"input":"%b","wa_id":"%b"}],"messages":[{"id":"wamid.HBgL%012d"}]}'
)


class ReceivedCalls:
    """What came, and when by the machine's monotonic clock, which all processes share."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, asyncio.Event]] = []
        self.reset()

    def reset(self) -> None:
        self.count = 0
        self.first = self.last = 0.0
        self.times: dict[str, list[float]] = {}

    def note(self, our_id: bytes) -> int:
        self.last = time.monotonic()
        self.first = self.first or self.last
        self.count += 1
        if our_id:
            self.times.setdefault(our_id.decode(), []).append(self.last)
        for wanted, event in self._waiting:
            if self.count >= wanted:
                event.set()
        return self.count

    def summary(self) -> dict[str, float]:
        times = {"first": self.first, "last": self.last, "cpu": time.process_time()}
        return {"count": self.count, "ids": len(self.times), **times}

    async def until(self, wanted: int) -> None:
        event = asyncio.Event()
        self._waiting.append((wanted, event))
        if self.count < wanted:
            await event.wait()
        self._waiting.remove((wanted, event))


class _Connection(asyncio.Protocol):
    def __init__(self, arrivals: ReceivedCalls, latency: float) -> None:
        self._arrivals = arrivals
        self._latency = latency
        self._parser = httptools.HttpRequestParser(self)
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one without saying so

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.abort()

    def on_message_begin(self) -> None:
        self._url = self._body = self._header_id = b""

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"x-message-id":
            self._header_id = value

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        if self._url.startswith(b"/_"):
            task = asyncio.get_running_loop().create_task(self._control(self._url.decode()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif self._latency:
            asyncio.get_running_loop().call_later(self._latency, self._answer, self._accept())
        else:
            self._answer(self._accept())

    def _accept(self) -> bytes:
        found = _OUR_ID.search(self._body)
        number = self._arrivals.note(self._header_id or (found[1] if found else b""))
        to = _TO.search(self._body)
        return _ACCEPTED % (to[1] if to else b"", to[1].lstrip(b"+") if to else b"", number)

    async def _control(self, url: str) -> None:
        path, _, argument = url.partition("?")
        if path == "/_reset":
            self._arrivals.reset()
        if path == "/_wait":
            await self._arrivals.until(int(argument))
        if path == "/_arrivals":
            self._answer(json.dumps(self._arrivals.times).encode())
        else:
            self._answer(json.dumps(self._arrivals.summary()).encode())

    def _answer(self, body: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(_HEAD % len(body) + body)


async def _serve(port: int, latency: float) -> None:
    arrivals = ReceivedCalls()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(arrivals, latency), "127.0.0.1", port, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@dataclass(frozen=True)
class Seen:
    """What the provider has taken since its last reset; `first` and `last` are `time.monotonic()` of this machine."""

    count: int
    ids: int
    first: float
    last: float
    cpu: float


@dataclass(frozen=True)
class Provider:
    """A running provider process, seen from outside."""

    url: str

    @property
    def messages_url(self) -> str:
        return f"{self.url}/v23.0/106540352242922/messages"

    def seen(self) -> Seen:
        return Seen(**self._get("/_count"))

    def wait(self, count: int, within: float) -> Seen:
        """Blocks until `count` messages came since the last reset; TimeoutError if they do not."""
        return Seen(**self._get(f"/_wait?{count}", within))

    def reset(self) -> None:
        self._get("/_reset")

    def received_times(self) -> dict[str, list[float]]:
        """Every time each of our ids arrived: more than one is a message sent twice."""
        times: dict[str, list[float]] = self._get("/_arrivals")
        return times

    def _get(self, path: str, timeout: float = 30.0) -> Any:
        with _DIRECT.open(self.url + path, timeout=timeout) as reply:
            return json.load(reply)


@contextmanager
def running(latency: float = 0.0) -> Iterator[Provider]:
    """A provider in a process of its own, on a free port; `latency` (seconds) delays every answer."""
    command = [sys.executable, "-m", "bench.peers.provider", "--port", "0", "--latency", str(latency)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        yield Provider(url=f"http://127.0.0.1:{int(child.stdout.readline())}")
    finally:
        child.terminate()
        child.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every answer")
    arguments = parser.parse_args()
    uvloop.run(_serve(arguments.port, arguments.latency))


if __name__ == "__main__":
    main()

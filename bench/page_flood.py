"""Customers who write at a fixed rate, however slow the answers: signed webhooks of several messages each."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from typing import NamedTuple
from urllib.parse import urlsplit

import uvloop

from bench import load
from waypost.http.edge.webhook_endpoint import PATH

CUSTOMERS = 200
BUNDLE = 10
"""Messages in one webhook: Meta bundles them when many come."""
_CONNECTIONS = 16


class Flooded(NamedTuple):
    """`late` is by how many seconds the last answer came after the last message was due."""

    messages: int
    refused: int
    seconds: float
    late: float
    p50: float
    p99: float

    @property
    def per_second(self) -> float:
        return self.messages / self.seconds


def words(number: int) -> str:
    return f"Line {number // CUSTOMERS + 1} of customer {number % CUSTOMERS}"


def a_bundle(first: int, at: int) -> bytes:
    """The messages from `first` on, each of another customer, written at `at`."""
    numbers = range(first, first + BUNDLE)
    contacts = [{"profile": {"name": f"Customer {n % CUSTOMERS}"}, "wa_id": _phone(n)} for n in numbers]
    messages = [
        {"from": _phone(n), "id": load.wamid(n), "timestamp": str(at), "type": "text", "text": {"body": words(n)}}
        for n in numbers
    ]
    return load.webhook({"contacts": contacts, "messages": messages}, load.PHONE_NUMBER_ID)


def _phone(number: int) -> str:
    return f"4916{number % CUSTOMERS:08d}"


class _Flood:
    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._due: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
        self.waits: list[float] = []
        self.refused = 0

    async def run(self, first: int, count: int, rate: float) -> Flooded:
        posting = [asyncio.ensure_future(self._post()) for _ in range(_CONNECTIONS)]
        started = time.perf_counter()
        for number in range(first, first + count, BUNDLE):
            due = started + (number - first) / rate
            await asyncio.sleep(max(0, due - time.perf_counter()))
            body = a_bundle(number, int(time.time()))
            request = load.signed(body, f"{self._host}:{self._port}", PATH, load.SECRET)
            self._due.put_nowait((due, request))
        for _ in posting:
            self._due.put_nowait(None)
        await asyncio.gather(*posting)
        seconds, waits = time.perf_counter() - started, sorted(self.waits)
        p50, p99 = (waits[int(len(waits) * share)] * 1e3 for share in (0.5, 0.99))
        return Flooded(count, self.refused, seconds, seconds - (count - BUNDLE) / rate, p50, p99)

    async def _post(self) -> None:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        while (asked := await self._due.get()) is not None:
            due, request = asked
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(length)
            self.refused += not head.startswith(b"HTTP/1.1 200")
            self.waits.append(time.perf_counter() - due)
        writer.close()


async def flood(url: str, first: int, count: int, rate: float) -> Flooded:
    """From a process of its own."""
    command = [sys.executable, "-m", "bench.page_flood", url, str(first), str(count), str(rate)]
    running = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    printed, _ = await running.communicate()
    return Flooded(**json.loads(printed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("rate", type=float)
    options = parser.parse_args()
    parts = urlsplit(options.url)
    run = _Flood(parts.hostname or "", parts.port or 80).run(options.first, options.count, options.rate)
    print(json.dumps(uvloop.run(run)._asdict()))


if __name__ == "__main__":
    main()

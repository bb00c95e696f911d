"""From a webhook to the bot's start, beyond the quiet time, at half of what one process with all roles can do."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import uvloop
from pyreqwest.client import Client, ClientBuilder

from bench import load, noting_bot
from bench.peers import database, provider
from bench.peers.provider import Provider
from bench.peers.serving import running, serve
from bench.table import Line
from bench.waypost_webhook import Lazy, connected, settings_for
from waypost.http.edge.webhook_endpoint import PATH, AsgiReceive, AsgiScope, AsgiSend
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.settings.roles import ALL_ROLES

QUIET = 0.5
CUSTOMERS = 500
PROBED = 2_000
"""Customers who write one line each, all at once: how long until all are answered is what the process can do."""
LASTING = 10.0
TICK = 0.005
CONNECTIONS = 64
SPARE = 1.0
"""Seconds between a customer's answer and their next line, at least."""


def _settings(url: str, graph: str) -> Settings:
    return settings_for(
        url,
        "bench.noting_bot:answer",
        graph_url=graph,
        turn_quiet_sec=QUIET,
        turn_slots=256,
        bot_history=0,
        outbound_window="ignore",  # the made-up lines were written long ago
    )


Delays: TypeAlias = dict[str, list[float]]
"""Since what -> seconds beyond the quiet time, sorted. The quiet time begins before the 200: that may be negative."""


class _Noting(Lazy):
    """Beside the server's own edge: `/_asked` tells when the bot was asked."""

    async def __call__(self, scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
        if scope.get("path") != "/_asked":
            return await super().__call__(scope, receive, send)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        return await send({"type": "http.response.body", "body": json.dumps(noting_bot.asked).encode()})


class Phones:
    """Customers at their phones: when each of their lines was posted, and when it was answered 200."""

    def __init__(self, client: Client, url: str) -> None:
        self._client = client
        self._url = url
        self._count = 0
        self.posted: dict[str, float] = {}
        self.taken: dict[str, float] = {}

    async def write(self, customer: int) -> None:
        self._count += 1
        number = self._count
        body = load.a_message(number, customer=customer)
        headers = {"X-Hub-Signature-256": load.signature(body, load.SECRET), "Content-Type": "application/json"}
        self.posted[load.wamid(number)] = time.monotonic()
        reply = await self._client.post(self._url + PATH).headers(headers).body_bytes(body).build().send()
        assert reply.status == 200, reply.status
        self.taken[load.wamid(number)] = time.monotonic()

    async def steadily(self, rate: float, customers: int) -> None:
        """Lines at the rate, whatever the answers do, one customer after the other."""
        count = int(rate * LASTING)
        started, sent, under_way = time.monotonic(), 0, []
        while sent < count:
            due = min(count, int((time.monotonic() - started) * rate))
            under_way += [asyncio.ensure_future(self.write(PROBED + n % customers)) for n in range(sent, due)]
            sent = due
            await asyncio.sleep(TICK)
        await asyncio.gather(*under_way)

    async def asked(self) -> dict[str, float]:
        """When the bot was asked about each line."""
        reply = await self._client.get(self._url + "/_asked").build().send()
        told: dict[str, float] = json.loads(await reply.text())
        return told


@asynccontextmanager
async def _phones(port: int) -> AsyncIterator[Phones]:
    builder = ClientBuilder().http1_only().no_proxy().timeout(timedelta(seconds=60))
    async with builder.max_connections(CONNECTIONS).pool_max_idle_per_host(CONNECTIONS).build() as client:
        yield Phones(client, f"http://127.0.0.1:{port}")


async def _capacity(phones: Phones, to: Provider, probed: int) -> float:
    """Turns a second, from the first webhook to the last answer at the provider's door."""
    to.reset()
    started = time.monotonic()
    await asyncio.gather(*(phones.write(customer) for customer in range(probed)))
    seen = await asyncio.to_thread(to.wait, probed, 120.0)
    return probed / (seen.last - started - QUIET)


async def _delays(phones: Phones, to: Provider, rate: float) -> Delays:
    """Every line was answered, each by a turn of its own."""
    to.reset()
    before = set(phones.taken)
    await phones.steadily(rate, max(CUSTOMERS, int(rate * (QUIET + SPARE))))
    lines = phones.taken.keys() - before
    await asyncio.to_thread(to.wait, len(lines), 60.0)
    asked = await phones.asked()
    times = {"POST": phones.posted, "200": phones.taken}
    return {start: sorted(asked[line] - at[line] - QUIET for line in lines) for start, at in times.items()}


async def run(url: str, to: Provider, probed: int = PROBED) -> tuple[float, Delays]:
    """What the process can do, and the delays at half of it."""
    graph = to.messages_url.removesuffix("/messages").rsplit("/", 1)[0]
    async with connected(_settings(url, graph)):
        pass
    with running("bench.turn_latency", ["--url", url, "--graph", graph]) as (_, port):
        async with _phones(port) as phones:
            await _capacity(phones, to, probed // 10)
            capacity = await _capacity(phones, to, probed)
            return capacity, await _delays(phones, to, capacity / 2)


async def _on_both(url: str, to: Provider, probed: int) -> dict[str, tuple[float, Delays]]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        on_sqlite = await run(f"sqlite:///{Path(folder) / 'bench.db'}", to, probed)
    async with database.fresh(url, "bench_turn_latency") as own:
        return {"PostgreSQL": await run(own, to, probed), "SQLite": on_sqlite}


def measure(url: str, _rounds: int, count: int) -> list[Line]:
    lines = []
    with provider.running() as to:
        found = uvloop.run(_on_both(url, to, min(PROBED, count)))
    for name, (capacity, delays) in found.items():
        lines.append(Line("turn_latency", f"one process with all roles, {name}", capacity, "turns/s"))
        for start, share in itertools.product(delays, (0.50, 0.99)):
            told = f"{start} → bot beyond the quiet time, p{share * 100:.0f} at {capacity / 2:,.0f}/s, {name}"
            delay = delays[start][int(len(delays[start]) * share)] * 1e3
            lines.append(Line("turn_latency", told, delay, "ms"))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--graph", required=True)
    parser.add_argument("--serve", action="store_true", help="on a free port that is printed")
    options = parser.parse_args()
    serve(_Noting(_settings(options.url, options.graph), ALL_ROLES))


if __name__ == "__main__":
    main()

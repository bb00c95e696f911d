"""The one HTTP call that every sending peer makes as its job, and what a run of many of them measured."""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from statistics import median
from typing import Protocol, TypeVar

import uvloop
from pyreqwest.client import Client, ClientBuilder

from bench.peers.provider import Provider, running

_HEADERS = {"Authorization": "Bearer " + "E" * 180, "Content-Type": "application/json"}
_TIMEOUT = timedelta(seconds=60)


def message(number: int) -> bytes:
    """A text message as the Cloud API takes it, our id in it."""
    return json.dumps(
        {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": f"+4915{number:08d}",
            "type": "text",
            "text": {"preview_url": False, "body": f"Your order {number} is on its way, it arrives tomorrow."},
            "biz_opaque_callback_data": f"m{number}:1",
        }
    ).encode()


@dataclass(frozen=True)
class Caller:
    """One shared HTTP session to the provider."""

    client: Client
    url: str

    async def post(self, body: bytes) -> None:
        reply = await self.client.post(self.url).headers(_HEADERS).body_bytes(body).timeout(_TIMEOUT).build().send()
        await reply.bytes()
        assert reply.status == 200, reply.status


@asynccontextmanager
async def calling(provider: Provider, connections: int) -> AsyncIterator[Caller]:
    builder = ClientBuilder().http1_only().no_proxy().follow_redirects(False)
    async with builder.max_connections(connections).pool_max_idle_per_host(connections).build() as client:
        yield Caller(client, provider.messages_url)


@dataclass(frozen=True)
class SendResult:
    """`seconds` run from the start of the worker to the provider's last request; `cpu` is the worker process's own."""

    name: str
    settings: str
    count: int
    seconds: float
    cpu: float
    doubles: int

    @property
    def per_second(self) -> float:
        return self.count / self.seconds

    @property
    def per_core(self) -> float:
        return self.count / self.cpu

    def __str__(self) -> str:
        doubles = f", {self.doubles} sent twice" if self.doubles else ""
        cost = self.cpu / self.count * 1e6
        return f"{self.name}: {self.per_second:,.0f} jobs/s, {cost:.0f} µs of CPU each ({self.settings}){doubles}"


Settings = TypeVar("Settings")
Settings_contra = TypeVar("Settings_contra", contravariant=True)


async def best(
    tried: Sequence[Settings], attempt: Callable[[Settings], Awaitable[SendResult]], rounds: int = 3
) -> Settings:
    """The settings with the highest median rate, rounds interleaved: a machine's mood changes by the minute."""
    rates: dict[Settings, list[float]] = {settings: [] for settings in tried}
    for settings in [*tried] * rounds:
        result = await attempt(settings)
        print(result, flush=True)
        rates[settings].append(result.per_second)
    ranking = sorted(tried, key=lambda settings: median(rates[settings]), reverse=True)
    for settings in ranking:
        print(f"median {median(rates[settings]):,.0f} jobs/s: {settings}")
    return ranking[0]


class Run(Protocol[Settings_contra]):
    """`count` messages sent, enqueued beforehand or, `while_working`, by the same process while it sends."""

    def __call__(
        self, url: str, to: Provider, count: int, settings: Settings_contra, *, while_working: bool = False
    ) -> Awaitable[SendResult]: ...


def command(about: str | None, run: Run[Settings], tried: Sequence[Settings], usual: Settings, count: int) -> None:
    """The command line of a peer that is measured alone."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--url", required=True, help="a PostgreSQL server on which databases may be created")
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--tune", action="store_true", help="try many settings first and keep the best")
    arguments = parser.parse_args()

    async def measured(to: Provider) -> None:
        sent = partial(run, arguments.url, to, arguments.count)
        settings = await best(tried, sent) if arguments.tune else usual
        print(await sent(settings))
        print(await sent(settings, while_working=True))

    with running() as to:
        uvloop.run(measured(to))


class Stopwatch:
    """Started when the worker starts; stops at the provider's last request."""

    def __init__(self, provider: Provider) -> None:
        provider.reset()
        self._provider = provider
        self._cpu = time.process_time()
        self._started = time.monotonic()

    async def result(self, name: str, settings: str, count: int, within: float = 600.0) -> SendResult:
        seen = await asyncio.to_thread(self._provider.wait, count, within)
        cpu = time.process_time() - self._cpu
        return SendResult(name, settings, count, seen.last - self._started, cpu, doubles=seen.count - seen.ids)

"""Waypost's own webhook door under the same load: each status finds its message, climbs the ladder and is kept."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvloop
from msgspec.structs import replace

from bench import load
from bench.peers import database
from bench.peers.serving import WebhookResult, measure, serve
from bench.waypost_send import ORG, draft
from waypost.flow.accounts import access
from waypost.flow.world import World
from waypost.http.edge.webhook_endpoint import PATH, AsgiReceive, AsgiScope, AsgiSend
from waypost.model.ids import NumberId, Wamid
from waypost.model.message import ClaimedMessage, Draft, Status
from waypost.model.time import Instant
from waypost.ports.sending.messages import Query
from waypost.ports.sending.outbox import Demand, Settlement
from waypost.rules.limits.send_pace import HORIZON
from waypost.rules.sending.callback_data import stamp
from waypost.rules.sending.delivery import Accept
from waypost.runtime.process import freeze_gc
from waypost.runtime.process.serve import build_server
from waypost.runtime.process.server import ProcessRole
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.telemetry.telemetry import Telemetry
from waypost.runtime.wiring.wiring import build_world, migrate, system_ports

_AT_ONCE = 1_000


def settings_for(url: str, bot: str = "none", **others: Any) -> Settings:
    return Settings(
        env="local",
        secret_key="bench",  # noqa: S106  # seals made-up secrets only
        database_url=url,
        outbound_pace=1000,
        outbound_quota=0,
        bot=bot,
        **others,
    )


def named(pairs: Iterable[str]) -> dict[str, str]:
    """Settings as a command line has them."""
    return dict(pair.split("=", 1) for pair in pairs)


async def prepare(url: str, count: int, bodies: Path) -> None:
    """`count` messages that the provider has taken, and a status for each."""
    async with connected(settings_for(url)) as world:
        with bodies.open("wb") as lines:
            for first in range(0, count, _AT_ONCE):
                lines.writelines(await _taken(world, first, min(_AT_ONCE, count - first)))


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[World]:
    """A world on a migrated Ledger, with the number that all webhooks are for."""
    await migrate(settings)
    ports = await system_ports(settings, serving=True)
    world = build_world(ports, settings.tuning(), Telemetry(), graph_url=settings.graph_url, graph_timeout=1)
    await access.create_org(ORG, world)
    secrets = {"token": "t", "app_secret": load.SECRET, "verify_token": "v"}
    number = NumberId(load.PHONE_NUMBER_ID)
    await access.connect_number(ORG, access.NewNumber(number=number, waba_id="w", secrets=secrets), world)
    try:
        yield world
    finally:
        await ports.ledger.close()


async def _taken(world: World, first: int, count: int) -> list[bytes]:
    await submitted(world, range(first, first + count))
    some = await claimed(world, count)
    await accepted(world, some)
    return [status_of(message) for message in some]


async def submitted(world: World, numbers: Iterable[int]) -> None:
    now = world.clock.now()
    await asyncio.gather(*(world.ledger.outbox.submit(_from_the_number(number), now) for number in numbers))


async def claimed(world: World, count: int) -> list[ClaimedMessage]:
    """As fast as the number's pace lets them go, on a clock of its own."""
    found: list[ClaimedMessage] = []
    now = world.clock.now()
    while len(found) < count:
        now = Instant(now + HORIZON)
        demand = Demand(owner=world.worker, slots=count - len(found))
        found += (await world.ledger.outbox.claim(demand, now)).claimed
    return found


async def accepted(world: World, messages: Sequence[ClaimedMessage]) -> None:
    """The provider took them."""
    now = world.clock.now()
    verdicts = [Settlement(message=each, verdict=Accept(Wamid(load.wamid(each.id)), "{}")) for each in messages]
    await asyncio.gather(*(world.ledger.outbox.settle(verdict, now) for verdict in verdicts))


def _from_the_number(number: int) -> Draft:
    return replace(draft(number), sender=NumberId(load.PHONE_NUMBER_ID))


def status_of(message: ClaimedMessage) -> bytes:
    """A line that says that it was delivered."""
    echoed = stamp(message.id, message.fence)
    return load.a_status(message.id).replace(f"m{message.id}:1".encode(), echoed.encode()) + b"\n"


async def delivered(url: str, count: int) -> int:
    ports = await system_ports(settings_for(url), serving=True)
    found = await ports.ledger.messages.find(ORG, Query(status=Status.DELIVERED), count + 1)
    await ports.ledger.close()
    return len(found)


async def run(url: str, count: int, name: str, folder: Path) -> WebhookResult:
    bodies = folder / "bodies.jsonl"
    await prepare(url, count, bodies)
    result = await asyncio.to_thread(
        measure, name, "bench.waypost_webhook", ["--url", url], count, path=PATH, bodies=bodies
    )
    assert await delivered(url, count) == count
    return result


async def run_postgres(url: str, count: int) -> WebhookResult:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        async with database.fresh(url, "bench_waypost_webhook") as own:
            return await run(own, count, "Waypost, PostgreSQL", Path(folder))


async def run_sqlite(count: int) -> WebhookResult:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return await run(f"sqlite:///{folder}/waypost.db", count, "Waypost, SQLite", Path(folder))


class Lazy:
    """The server's edge, opened when uvicorn's loop runs."""

    def __init__(self, settings: Settings, roles: frozenset[ProcessRole] = frozenset({ProcessRole.API})) -> None:
        self._settings = settings
        self._roles = roles
        self._app: Any = None

    async def __call__(self, scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self._app(scope, receive, send)

    async def _live(self, receive: AsgiReceive, send: AsgiSend) -> None:
        await receive()
        ports = await system_ports(self._settings, answering=ProcessRole.WORKER in self._roles)
        server = build_server(ports, self._settings, self._roles)
        await server.start()
        freeze_gc.freeze_gc()
        self._app = server.app
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await server.stop()
        await send({"type": "lifespan.shutdown.complete"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="PostgreSQL; without it, a temporary SQLite file")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--bot", default="none", help="with echo, what customers write waits for its turn")
    parser.add_argument("--serve", action="store_true", help="only serve, on a free port that is printed")
    parser.add_argument("--roles", default="api", help="those of the serving process")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="another setting")
    options = parser.parse_args()
    if options.serve:
        roles = frozenset(ProcessRole(name) for name in options.roles.split(","))
        serve(Lazy(settings_for(options.url, options.bot, **named(options.set)), roles))
    elif options.url:
        print(uvloop.run(run_postgres(options.url, options.count)))
    else:
        print(uvloop.run(run_sqlite(options.count)))


if __name__ == "__main__":
    main()

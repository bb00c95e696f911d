"""The whole server for benchmarks of live conversations, on either Ledger, with people who have chats already."""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import NamedTuple

import uvloop

from bench.peers import database
from bench.peers.ledger_rows import insert_people
from bench.waypost_webhook import named, settings_for
from waypost.flow.accounts import access
from waypost.flow.world import World
from waypost.model.account import Role
from waypost.model.chat import ChatKind, NewChat
from waypost.model.conversation import ConversationId
from waypost.model.ids import OrgId, UserId
from waypost.runtime.process import freeze_gc
from waypost.runtime.process.serve import build_server
from waypost.runtime.process.uvicorn_runner import listen, serve_until, stop_signal, web_server
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.settings.roles import ALL_ROLES
from waypost.runtime.telemetry.telemetry import Telemetry
from waypost.runtime.wiring.wiring import build_world, migrate, system_ports

ORG = OrgId("bench")
DEVICES_EACH = 20
"""Connections that one person may have."""
LIVE = b'"type":"live"'
PING = b'{"type":"ping"}'
_LETTERS = 200


class Ledger(NamedTuple):
    name: str
    url: str


@contextmanager
def ledgers(postgres: str) -> Iterator[list[Ledger]]:
    """An empty one of each kind, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, uvloop_runner() as runner:
        fresh = database.fresh(postgres, "bench_waypost_live")
        own = runner.run(fresh.__aenter__())
        try:
            yield [
                Ledger("Waypost, SQLite", f"sqlite:///{folder}/waypost.db"),
                Ledger("Waypost, PostgreSQL", own),
            ]
        finally:
            runner.run(fresh.__aexit__(None, None, None))


def uvloop_runner() -> asyncio.Runner:
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[World]:
    ports = await system_ports(settings)
    yield build_world(ports, settings.tuning(), Telemetry(), graph_url=settings.graph_url, graph_timeout=1)
    await ports.ledger.close()


async def prepare(url: str, people: int) -> None:
    """An org whose people have the tokens that `token` says."""
    settings = settings_for(url)
    await migrate(settings)
    async with connected(settings) as world:
        await access.create_org(ORG, world)
        now = world.clock.now()
    agent = Role.AGENT.value
    rows = [(person(n), ORG, access.digest(token(n)), f"Person {n}", agent, now) for n in range(people)]
    await insert_people(url, rows)


async def open_group(url: str, people: int) -> ConversationId:
    """Of everybody: large enough for a feed of its own."""
    async with connected(settings_for(url)) as world:
        return await _open(world, ChatKind.GROUP, "group:bench", range(people))


async def open_directs(url: str, chats: int) -> list[ConversationId]:
    """Of persons 0 and 1, 2 and 3, and so on."""
    async with connected(settings_for(url)) as world:
        pairs = [(2 * n, 2 * n + 1) for n in range(chats)]
        opened = [_open(world, ChatKind.DIRECT, f"direct:{a} {b}", (a, b)) for a, b in pairs]
        return list(await asyncio.gather(*opened))


async def _open(world: World, kind: ChatKind, pair: str, numbers: Sequence[int]) -> ConversationId:
    members = tuple(person(n) for n in numbers)
    new = NewChat(org_id=ORG, kind=kind, pair=pair, title=None, history="all", members=members)
    return (await world.ledger.chats.open(new, world.clock.now())).id


def person(number: int) -> UserId:
    return UserId(f"user_{number:06d}")


def token(number: int) -> str:
    return f"wpu_bench_{number:06d}"


def hello(number: int, people: int) -> bytes:
    """Of connection `number`: the people come one after the other, each with a first device, then with a second."""
    device, who = divmod(number, people)
    return json.dumps({"type": "hello", "device_id": f"screen-{device}", "token": token(who)}).encode()


def a_post(name: str, chat: ConversationId) -> dict[str, object]:
    content = {"type": "text", "text": "x" * _LETTERS}
    return {"client_message_id": name, "conversation_id": str(chat), "content": content}


def a_send(name: str, chat: ConversationId) -> bytes:
    return json.dumps({"type": "send", **a_post(name, chat)}).encode()


async def serve(url: str, others: Mapping[str, str]) -> None:
    """On a free port that it prints, until terminated."""
    told = stop_signal()
    settings = settings_for(url, **others)
    server = build_server(await system_ports(settings), settings, ALL_ROLES)
    await server.start()
    sock = listen("127.0.0.1", 0)
    freeze_gc.freeze_gc()
    print(sock.getsockname()[1], flush=True)
    try:
        await serve_until(told, [(web_server(server.app, server.websockets), sock)], server.wind_down)
    finally:
        await server.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", required=True, help="serve, on a free port that is printed")
    parser.add_argument("--url", required=True, help="the Ledger's, prepared")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="another setting")
    options = parser.parse_args()
    uvloop.run(serve(options.url, named(options.set)))

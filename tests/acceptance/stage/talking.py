"""Customers who write to a server that is in trouble, and a verdict from what their phones show."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from tests.acceptance.stage import thinking_bot
from tests.acceptance.stage.clients import OUTAGE, Sandbox
from tests.acceptance.stage.harness import Site, free_port, until

DOOR = "/api/v1/webhooks/whatsapp/inbound"
DOUBLED = 0.1
"""The share of webhooks that are posted again although they were answered."""


def think(here: Site) -> None:
    """Let the server that runs here answer by `thinking_bot`."""
    shutil.copy(thinking_bot.__file__, here.folder)
    here.settings["WAYPOST_BOT"] = "thinking_bot:answer"


@dataclass(frozen=True)
class Notes:
    """What the bot wrote down, and the file that makes it hang."""

    folder: Path

    def all(self, what: str) -> list[dict[str, Any]]:
        written = self.folder / thinking_bot.NOTES
        lines = written.read_text().splitlines() if written.exists() else []
        return [noted for noted in map(json.loads, lines) if noted["what"] == what]

    async def start(self, number: int) -> dict[str, Any]:
        """The bot's start of that number, counted from 1."""

        async def noted() -> list[dict[str, Any]]:
            return self.all("start")[number - 1 :]

        found: list[dict[str, Any]] = await until(noted, f"the bot was asked {number} times")
        return found[0]

    def hang(self) -> None:
        (self.folder / thinking_bot.HANG).touch()

    def go_on(self) -> None:
        (self.folder / thinking_bot.HANG).unlink()


async def say(sandbox: Sandbox, phone: str, **said: Any) -> None:
    answer = await sandbox.ask("POST", f"/_sandbox/phones/{phone}/say", said)
    assert answer.status == 200, answer


async def answers(sandbox: Sandbox, phone: str) -> list[str]:
    """What the business wrote to this phone."""
    return [shown["text"] for shown in await sandbox.screen(phone) if shown["from"] == "business"]


async def answered(sandbox: Sandbox, phone: str, count: int = 1) -> list[str]:
    """Once there are so many answers."""

    async def shown() -> list[str]:
        found = await answers(sandbox, phone)
        return found if len(found) >= count else []

    found: list[str] = await until(shown, f"{phone} was answered {count} times")
    return found


@dataclass
class FrontDoor:
    """Before the server as Meta is: posts again what was not answered 200, and some of it twice for no reason.

    The sandbox hears 200 only when the server has said so: what a customer then writes has really come later.
    """

    url: str
    session: aiohttp.ClientSession
    dice: random.Random
    again: int = 0
    _doubles: set[asyncio.Task[bool]] = field(default_factory=set)

    async def pass_on(self, request: web.Request) -> web.Response:
        body, sign = await request.read(), request.headers["x-hub-signature-256"]
        while not await self._posted(body, sign):
            self.again += 1
            await asyncio.sleep(0.05)
        if self.dice.random() < DOUBLED:
            double = asyncio.ensure_future(self._posted(body, sign))
            self._doubles.add(double)
            double.add_done_callback(self._doubles.discard)
        return web.Response()

    async def _posted(self, body: bytes, sign: str) -> bool:
        headers = {"x-hub-signature-256": sign, "content-type": "application/json"}
        patience = aiohttp.ClientTimeout(2)  # a process that hangs may have taken it
        with suppress(*OUTAGE):
            async with self.session.post(self.url, data=body, headers=headers, timeout=patience) as reply:
                return reply.status == 200
        return False


@asynccontextmanager
async def front_door(here: Site, dice: random.Random) -> AsyncIterator[tuple[FrontDoor, str]]:
    """The door, and its address for the sandbox."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True)) as session:
        door = FrontDoor(here.url + DOOR, session, dice)
        app = web.Application()
        app.router.add_post(DOOR, door.pass_on)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        port = free_port()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        try:
            yield door, f"http://127.0.0.1:{port}{DOOR}"
        finally:
            await runner.cleanup()


@dataclass
class Customer:
    """Writes bursts: in one webhook or line by line, without waiting for an answer."""

    phone: str
    sandbox: Sandbox
    dice: random.Random
    bursts: list[list[str]] = field(default_factory=list)
    together: list[list[str]] = field(default_factory=list)
    """Those that came in one webhook."""

    @property
    def lines(self) -> list[str]:
        return [line for burst in self.bursts for line in burst]

    async def write(self, bursts: int) -> None:
        for number in range(bursts):
            await asyncio.sleep(self.dice.uniform(0.2, 5))
            burst = [f"{self.phone[-3:]} {number} {line}" for line in range(self.dice.randint(1, 4))]
            self.bursts.append(burst)
            if self.dice.random() < 0.5:
                self.together.append(burst)
                await say(self.sandbox, self.phone, texts=burst, together=True)
                continue
            for line in burst:
                await say(self.sandbox, self.phone, text=line)


@dataclass
class Verdict:
    """Every line must be answered once, in order, and what came together must be answered together."""

    customers: list[Customer]
    screens: dict[str, list[str]]
    """By phone: what the business wrote."""

    def __post_init__(self) -> None:
        self.lost: list[str] = []
        self.doubled: list[str] = []
        self.reordered: list[tuple[list[str], list[str]]] = []
        self.split: list[list[str]] = []
        self.strangers: list[str] = []
        for customer in self.customers:
            self._judge(customer, [shown.split("\n") for shown in self.screens[customer.phone]])

    def _judge(self, customer: Customer, shown: list[list[str]]) -> None:
        said, seen = customer.lines, [line for answer in shown for line in answer]
        counts = Counter(seen)
        self.lost += [line for line in said if not counts[line]]
        self.doubled += [line for line in said if counts[line] > 1]
        self.strangers += [line for line in counts if line not in said]
        if [line for line in said if counts[line]] != list(dict.fromkeys(seen)):
            self.reordered.append((said, seen))
        self.split += [burst for burst in customer.together if not any(set(burst) <= set(each) for each in shown)]

    def __str__(self) -> str:
        bursts = sum(len(customer.bursts) for customer in self.customers)
        messages = sum(len(customer.lines) for customer in self.customers)
        given = sum(len(screen) for screen in self.screens.values())
        return (
            f"customers {len(self.customers)}, bursts {bursts}, messages {messages}, answers {given}, "
            f"lost {len(self.lost)}, doubled {len(self.doubled)}, reordered {len(self.reordered)}, "
            f"split {len(self.split)}"
        )

    def check(self) -> None:
        assert not self.lost, self.lost[:10]
        assert not self.doubled, self.doubled[:10]
        assert not self.reordered, self.reordered[:3]
        assert not self.split, self.split[:3]
        assert not self.strangers, self.strangers[:10]

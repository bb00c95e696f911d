"""People with their devices, chats and customers, who write while everything breaks; made and asked by REST."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

from tests.acceptance.stage.clients import OUTAGE, Sandbox
from tests.acceptance.stage.crowd import PAGE, Device, NodeDevice, NodeProcess, Person, PythonDevice
from tests.acceptance.stage.screens import Json, Screen
from tests.acceptance.stage.talking import say

AGENTS = 10
LARGE, GROWING, NEWCOMERS = 60, 30, 9
"""Members of the large group; of the one that grows, and how many come to it."""


class Size(NamedTuple):
    people: int
    devices: int
    customers: int
    node_processes: int


@dataclass
class Rest:
    """Asks until it is answered, as nobody's client would."""

    session: aiohttp.ClientSession
    url: str

    async def ask(self, method: str, path: str, token: str, body: object = None, also: int = 0) -> Any:
        """`also`: a status that is as good, since the answer to an earlier try may have been lost."""
        while True:
            with suppress(*OUTAGE):
                async with self.session.request(
                    method,
                    f"{self.url}/api/v1{path}",
                    json=body,
                    headers={"authorization": f"Bearer {token}"},
                    timeout=aiohttp.ClientTimeout(15),
                ) as reply:
                    answer = await reply.json() if reply.content_type.endswith("json") else None
                    if reply.status < 500 and reply.status != 429:
                        assert reply.status < 300 or reply.status == also, (method, path, reply.status, answer)
                        return answer
            await asyncio.sleep(0.1)

    async def log(self, conversation: str, token: str) -> list[Json]:
        """Oldest first."""
        found: list[Json] = []
        cursor = ""
        while True:
            page = await self.ask("GET", f"/conversations/{conversation}/messages?limit={PAGE}{cursor}", token)
            found += page["messages"]
            if not page["has_more"]:
                return found[::-1]
            cursor = f"&cursor={page['next_cursor']}"

    async def conversations(self, token: str, query: str = "") -> list[Json]:
        found: list[Json] = []
        cursor = ""
        while True:
            page = await self.ask("GET", f"/conversations?limit={PAGE}{query}{cursor}", token)
            found += page["conversations"]
            if not page["has_more"]:
                return found
            cursor = f"&cursor={page['next_cursor']}"


@dataclass
class Chat:
    id: str
    owner: Person
    """Opened it, and stays."""
    members: list[Person]


@dataclass
class Absence:
    """Somebody was out of a group from an answer on, until they were asked in again."""

    conversation: str
    person: Person
    since: float
    until: float = float("inf")


@dataclass
class Town:
    rest: Rest
    sandbox: Sandbox
    people: list[Person]
    devices: list[Device]
    dice: random.Random
    chats: list[Chat] = field(default_factory=list)
    groups: list[Chat] = field(default_factory=list)
    """Those that people leave and join."""
    absences: list[Absence] = field(default_factory=list)
    customers: list[str] = field(default_factory=list)
    """Phones."""
    talks: set[str] = field(default_factory=set)
    """Conversations with customers."""
    said: list[str] = field(default_factory=list)
    """By customers."""
    erased: set[str] = field(default_factory=set)
    forgotten: int = 0
    """Devices that their people removed, and that must read everything anew."""

    # Made

    async def build(self, size: Size) -> None:
        self.customers = [f"1555400{n:04}" for n in range(size.customers)]
        for phone in self.customers:
            await self.customer_says(phone, 0)
        found = await self.rest.conversations(self.people[0].token, "&kind=customer")
        self.talks |= {each["conversation_id"] for each in found}
        pairs = [self.people[n : n + 2] for n in range(0, len(self.people) - 1, 2)]
        circles = [self.dice.sample(self.people, self.dice.randint(3, 8)) for _ in range(len(self.people) // 8)]
        large = self.dice.sample(self.people, min(LARGE, len(self.people) - 1))
        growing = self.dice.sample(self.people, min(GROWING, len(self.people) - 6))
        await asyncio.gather(*(self._open("direct", pair) for pair in pairs))
        await asyncio.gather(*(self._open("group", circle) for circle in circles))
        self.groups = [await self._open("group", large), await self._open("group", growing)]
        self.groups.append(await self._open("group", self.dice.sample(self.people, 6), history="joined"))

    async def _open(self, kind: str, members: list[Person], **more: str) -> Chat:
        opening = {"kind": kind, "members": [person.id for person in members[1:]], **more}
        if kind == "group":
            opening["title"] = f"group of {len(members)}"
        made = await self.rest.ask("POST", "/conversations", members[0].token, opening)
        chat = Chat(made["conversation_id"], members[0], list(members))
        self.chats.append(chat)
        return chat

    # Lived in

    async def live(self, until: float) -> None:
        devices = (self._write(device, random.Random(self.dice.random()), until) for device in self.devices)
        customers = (self._complain(phone, random.Random(self.dice.random()), until) for phone in self.customers)
        async with asyncio.TaskGroup() as doing:
            for each in (*devices, *customers, self._move_about(until)):
                doing.create_task(each)

    async def _write(self, device: Device, dice: random.Random, until: float) -> None:
        await asyncio.sleep(dice.uniform(0, 5))
        while time.monotonic() < until:
            post = await device.post(self._somewhere(device.person, dice))
            await asyncio.sleep(dice.uniform(2, 8))
            if post.message_id and dice.random() < 0.05 and post.conversation not in self.talks:
                gone = f"/messages/{post.message_id}"
                if await self.rest.ask("DELETE", gone, device.person.token, also=404) is None:
                    self.erased.add(post.name)  # who left the group meanwhile finds nothing there
            elif post.message_id and dice.random() < 0.05:
                await device.read(post.conversation, post.message_id)
            elif dice.random() < 0.01:
                await self.rest.ask("DELETE", f"/devices/{device.name}", device.person.token, also=404)
                self.forgotten += 1

    def _somewhere(self, person: Person, dice: random.Random) -> str:
        if person.is_agent and dice.random() < 0.4:
            return dice.choice(sorted(self.talks))
        own = [chat for chat in self.chats if person in chat.members]
        quiet = [chat for chat in own if len(chat.members) <= 8] if dice.random() < 0.9 else own
        return dice.choice(quiet or own).id

    async def _complain(self, phone: str, dice: random.Random, until: float) -> None:
        number = 0
        while time.monotonic() < until:
            await asyncio.sleep(dice.uniform(2, 6))
            number += 1
            await self.customer_says(phone, number)

    async def customer_says(self, phone: str, number: int) -> None:
        line = f"{phone} line {number}"
        self.said.append(line)
        await say(self.sandbox, phone, text=line)

    async def _move_about(self, until: float) -> None:
        """People are removed and come back much later, so that a request that is late changes nothing of it."""
        growing = self.groups[1]
        newcomers = [person for person in self.people if person not in growing.members][:NEWCOMERS]
        while time.monotonic() < until:
            await asyncio.sleep(self.dice.uniform(0.3, 1.5))
            if newcomers and self.dice.random() < 0.4:
                await self._add(growing, newcomers.pop())
            elif self.dice.random() < 0.6:
                await self._remove(self.dice.choice(self.groups))
            else:
                await self._ask_back()

    async def _add(self, chat: Chat, person: Person) -> None:
        await self.rest.ask("POST", f"/conversations/{chat.id}/members", chat.owner.token, {"add": [person.id]})
        chat.members.append(person)

    async def _remove(self, chat: Chat) -> None:
        was_out = {absence.person.id for absence in self.absences if absence.conversation == chat.id}
        stay = [person for person in chat.members if person is chat.owner or person.id in was_out]
        go = [person for person in chat.members if person not in stay]
        if len(go) < 3:
            return
        person = self.dice.choice(go)
        chat.members.remove(person)  # who writes there from now on may be refused
        await self.rest.ask("POST", f"/conversations/{chat.id}/members", chat.owner.token, {"remove": [person.id]})
        self.absences.append(Absence(chat.id, person, time.monotonic()))

    async def _ask_back(self) -> None:
        now = time.monotonic()
        for absence in self.absences:
            if absence.until == float("inf") and now - absence.since > 10:
                absence.until = now
                await self._add(next(chat for chat in self.groups if chat.id == absence.conversation), absence.person)
                return


@asynccontextmanager
async def crowd(
    people: list[Person], size: Size, driver: list[str], folder: Path, dice: random.Random
) -> AsyncIterator[tuple[list[Device], set[str]]]:
    """The devices, not started yet, and the set of customers' conversations that their screens share."""
    processes = [NodeProcess(driver, folder / f"node-{n}.log") for n in range(size.node_processes)]
    customers: set[str] = set()
    devices: list[Device] = []
    for n in range(size.devices):
        person = people[n % len(people)]
        kind = ("python", "node")[(n + n // len(people)) % 2]  # who has two devices has one of each
        name, screen = f"{kind}-{n}", Screen(person.id, customers)
        if kind == "node":
            devices.append(NodeDevice(name, person, screen, folder / name, process=dice.choice(processes)))
        else:
            devices.append(PythonDevice(name, person, screen, folder / name))
    for process in processes:
        await process.start()
    try:
        yield devices, customers
    finally:
        await asyncio.gather(*(device.stop() for device in devices))
        await asyncio.gather(*(process.stop() for process in processes))


async def make_people(rest: Rest, admin_key: str, count: int) -> list[Person]:
    async def make(number: int) -> Person:
        made = await rest.ask("POST", "/users", admin_key, {"name": f"person {number}", "role": "agent"})
        return Person(number, made["user_id"], made["token"], number < AGENTS)

    return list(await asyncio.gather(*(make(number) for number in range(count))))

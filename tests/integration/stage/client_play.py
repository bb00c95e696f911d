"""Plays a case of clients/cases.json: a client behind pipes, a hostile proxy, a real server, and another user."""

from __future__ import annotations

import asyncio
import json
import shutil
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from waypost.adapters.reqwest.transport import ReqwestTransport
from waypost_testing.services.hostile_proxy import HostileProxy

PATIENCE = 60.0
PAGE = 200

Json = dict[str, Any]
Step = dict[str, Any]


@dataclass(frozen=True)
class Person:
    user_id: str
    token: str


class Api:
    """Directly to the server, without a client: one call, one answer."""

    def __init__(self, url: str, wire: ReqwestTransport) -> None:
        self.url, self._wire = url, wire

    async def ask(
        self, method: str, path: str, token: str, body: object = None, expect: tuple[int, ...] = (200, 201, 204)
    ) -> Any:
        content = b"" if body is None else msgspec.json.encode(body)
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        reply = await self._wire.request(
            method, f"{self.url}/api/v1{path}", headers=headers, body=content, timeout=PATIENCE
        )
        assert reply.status in expect, (method, path, reply.status, reply.body)
        return msgspec.json.decode(reply.body) if reply.body else None

    async def person(self, admin_key: str, name: str) -> Person:
        made = await self.ask("POST", "/users", admin_key, {"name": name, "role": "agent"})
        return Person(made["user_id"], made["token"])

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


@dataclass
class Life:
    """The output of one client process."""

    process: asyncio.subprocess.Process
    reading: asyncio.Task[None]


@dataclass
class Sending:
    name: str
    text: str
    conversation: str


@dataclass
class Device:
    """A client under test, over all its lives; its screen is the runner's, as an application's would be."""

    command: list[str]
    device_id: str
    store: Path
    events: list[Json] = field(default_factory=list)
    seen: list[set[tuple[str, int]]] = field(default_factory=list)
    twice: list[tuple[str, int]] = field(default_factory=list)
    screen: dict[str, dict[str, str | None]] = field(default_factory=dict)
    """Per conversation: message ids with their texts, None for a tombstone, in the order in which they came."""
    sends: list[Sending] = field(default_factory=list)
    epoch: str | None = None
    life: Life | None = None
    born: int = 0
    """How many events there were when this life began."""
    reads_first: bool = False
    """It starts fresh, and has not read its screen yet."""
    bell: asyncio.Condition = field(default_factory=asyncio.Condition)
    expected: dict[str, int] = field(default_factory=dict)
    """Per kind of expectation: the events up to there were looked at."""

    async def start(self, url: str, token: str, timing: Json) -> None:
        if self.life is not None:
            return
        self.reads_first = not self.store.exists()
        self.born = len(self.events)
        self.store.mkdir(parents=True, exist_ok=True)
        process = await asyncio.create_subprocess_exec(
            *self.command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=16 * 1024 * 1024
        )
        self.seen.append(set())
        self.life = Life(process, asyncio.create_task(self._read(process)))
        start = {"do": "start", "url": url, "token": token, "device_id": self.device_id, "store": str(self.store)}
        await self.say({**start, "timing": timing, **({} if self.epoch is None else {"epoch": self.epoch})})
        self.epoch = None

    async def say(self, command: Json) -> None:
        assert self.life is not None, "the case tells a client that does not run"
        assert self.life.process.stdin is not None
        self.life.process.stdin.write(msgspec.json.encode(command) + b"\n")
        await self.life.process.stdin.drain()

    async def stop(self) -> None:
        with suppress(ConnectionError):
            await self.say({"do": "stop"})
        await self._gone()

    async def kill(self) -> None:
        if self.life is not None:
            with suppress(ProcessLookupError):
                self.life.process.kill()
            await self._gone()

    async def _gone(self) -> None:
        assert self.life is not None
        async with asyncio.timeout(PATIENCE):
            await self.life.process.wait()
            await self.life.reading
        self.life = None

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            if line.endswith(b"\n"):  # killed in the middle of a line, it did not send it
                self._on_event(json.loads(line))
                async with self.bell:
                    self.bell.notify_all()

    def _on_event(self, event: Json) -> None:
        self.events.append(event)
        if event["event"] == "reset":
            self.screen = {}
            for message in event["messages"]:
                self._show(message)
        elif event["event"] == "item":
            self._apply(event["item"])

    def _apply(self, item: Json) -> None:
        place = (item["feed"], item["seq"])
        if place in self.seen[-1]:
            self.twice.append(place)
        self.seen[-1].add(place)
        if item["kind"] == "message":
            self._show(item["message"])
        elif item["kind"] == "deleted":
            self.screen[item["conversation_id"]][item["message_id"]] = None

    def _show(self, message: Json) -> None:
        self.screen.setdefault(message["conversation_id"], {})[message["message_id"]] = text_of(message)

    def since(self, kind: str, fits: Callable[[Json], bool]) -> bool:
        """An event that fits came since this kind of expectation was last met."""
        start = self.expected.get(kind, 0)
        for n, event in enumerate(self.events[start:], start):
            if fits(event):
                self.expected[kind] = n + 1
                return True
        return False

    @property
    def was_reset(self) -> bool:
        """In this life."""
        return any(event["event"] == "reset" for event in self.events[self.born :])

    def latest_event(self, name: str, client_message_id: str) -> Json | None:
        """The latest event of this name about a send."""
        for event in reversed(self.events):
            if event["event"] == name and event["client_message_id"] == client_message_id:
                return event
        return None

    async def until(self, holds: Callable[[], Any], what: object) -> None:
        """Looked at after each event."""
        try:
            async with asyncio.timeout(PATIENCE), self.bell:
                await self.bell.wait_for(holds)
        except TimeoutError:
            raise AssertionError(f"{what} never came; last of {len(self.events)} events: {self.events[-12:]}") from None


def text_of(message: Json) -> str | None:
    content = message.get("content") or {}
    text: str | None = content.get("text")
    return text


@dataclass
class Stage:
    """Everything that a step can name."""

    api: Api
    admin_key: str
    proxy: HostileProxy
    me: Person
    other: Person
    rooms: dict[str, str]
    timing: Json
    command: list[str]
    folder: Path
    devices: dict[str, Device] = field(default_factory=dict)
    posted: int = 0

    def device(self, step: Step) -> Device:
        name = step.get("as", "me")
        if name not in self.devices:
            same = self.devices.get(step.get("device_of", ""))
            device_id = same.device_id if same else f"{name}-{uuid.uuid4()}"
            self.devices[name] = Device(self.command, device_id, self.folder / name)
        return self.devices[name]

    async def connect(self, device: Device, token: str | None = None) -> None:
        await device.start(self.proxy.url, token or self.me.token, self.timing)

    async def log(self, room: str) -> list[Json]:
        return await self.api.log(self.rooms[room], self.me.token)

    async def end(self) -> None:
        for device in self.devices.values():
            await device.kill()


def cleared(store: Path) -> None:
    shutil.rmtree(store)

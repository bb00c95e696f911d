"""Devices of both clients: Python's in this process, TypeScript's in a few Node processes, each with its screen."""

from __future__ import annotations

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from tests.acceptance.stage.harness import PATIENCE
from tests.acceptance.stage.screens import Json, Screen
from waypost.client import Client, FileStore, Item, RequestRefused, Reset, SendRefused, Stopped, Timing

TIMING: dict[str, float] = {
    "hold": 500,
    "ack_timeout": 4_000,
    "backoff_base": 200,
    "backoff_cap": 3_000,
    "going_away": 1_000,
    "open_timeout": 8_000,
    "upgrade_base": 1_000,
    "upgrade_cap": 5_000,
    "poll_wait": 10_000,
    "heartbeat": 4_000,
}
PAGE = 200
ASK_AGAIN = 10.0
"""Seconds: a little longer than the client itself waits for an answer."""


@dataclass(frozen=True)
class Person:
    number: int
    id: str
    token: str
    is_agent: bool
    """Answers customers."""


@dataclass
class Post:
    """Something that a device was asked to send."""

    name: str
    conversation: str
    text: str
    asked_at: float
    message_id: str | None = None
    position: int | None = None
    refused: str | None = None
    answered_at: float = float("inf")

    @property
    def is_open(self) -> bool:
        return self.message_id is None and self.refused is None


@dataclass
class Device(ABC):
    name: str
    person: Person
    screen: Screen
    store: Path
    posts: dict[str, Post] = field(default_factory=dict)
    resets: list[str] = field(default_factory=list)
    states: Counter[str] = field(default_factory=Counter)
    stopped: int | None = None
    """The code that ended it, though nobody asked it to stop."""

    async def post(self, conversation: str) -> Post:
        name = f"{self.name}-{len(self.posts)}"
        post = self.posts[name] = Post(name, conversation, f"{name} in {conversation}", time.monotonic())
        await self._send(post)
        return post

    def _sent(self, name: str, message_id: str, position: int | None) -> None:
        post = self.posts[name]
        post.message_id, post.position, post.answered_at = message_id, position, time.monotonic()

    @abstractmethod
    async def start(self, url: str) -> None: ...
    @abstractmethod
    async def _send(self, post: Post) -> None: ...
    @abstractmethod
    async def read(self, conversation: str, message_id: str) -> None: ...
    @abstractmethod
    async def stop(self) -> None: ...


@dataclass
class PythonDevice(Device):
    _client: Client | None = None
    _showing: asyncio.Task[None] | None = None
    _sends: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self, url: str) -> None:
        store = FileStore(self.store / "client.db")
        self._client = Client(
            url, self.person.token, self.name, store=store, timing=Timing(**TIMING), watch=self._watch
        )
        await self._client.__aenter__()
        self._showing = asyncio.create_task(self._show(self._client))

    def _watch(self, happening: Any) -> None:
        if hasattr(happening, "state"):
            self.states[happening.state] += 1

    async def _show(self, client: Client) -> None:
        try:
            async for applied in client.items():
                match applied:
                    case Reset(reason=reason):
                        self.resets.append(reason)
                        self.screen.reset()
                        for conversation in await client.conversations():
                            await self._read(client, conversation.conversation_id)
                    case Item(body=body):
                        joined = self.screen.apply(body)
                        if joined:
                            await self._read(client, joined)
        except Stopped as stopped:
            self.stopped = stopped.code

    async def _read(self, client: Client, conversation: str) -> None:
        with suppress(RequestRefused):  # removed in the meantime
            self.screen.read([msgspec.to_builtins(m) async for m in client.history(conversation, limit=PAGE)])

    async def _send(self, post: Post) -> None:
        sending = asyncio.create_task(self._until_answered(post))
        self._sends.add(sending)
        sending.add_done_callback(self._sends.discard)

    async def _until_answered(self, post: Post) -> None:
        assert self._client is not None
        try:
            sent = await self._client.send(post.conversation, post.text, client_message_id=post.name)
        except SendRefused as refused:
            post.refused = refused.code
        except Stopped as stopped:
            self.stopped = stopped.code
        else:
            self._sent(post.name, sent.message_id, sent.position)

    async def read(self, conversation: str, message_id: str) -> None:
        assert self._client is not None
        with suppress(RequestRefused):
            await self._client.read(conversation, message_id)

    async def stop(self) -> None:
        for task in [*self._sends, *([self._showing] if self._showing else [])]:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if self._client is not None:
            await self._client.__aexit__(None, None, None)


class NodeProcess:
    """One driver of the TypeScript client with several clients in it (clients/README.md)."""

    def __init__(self, command: list[str], complaints: Path) -> None:
        self._command, self._complaints = command, complaints
        self.devices: dict[str, NodeDevice] = {}

    async def start(self) -> None:
        with self._complaints.open("ab") as stderr:
            pipe = asyncio.subprocess.PIPE
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=pipe, stdout=pipe, stderr=stderr, limit=64 * 1024 * 1024
            )
        self._reading = asyncio.create_task(self._read())

    async def say(self, command: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        await self._process.stdin.drain()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            event = json.loads(line)
            self.devices[event["as"]].on_event(event)

    async def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(PATIENCE):
                await self._process.wait()
        finally:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._reading


@dataclass
class NodeDevice(Device):
    process: NodeProcess = field(kw_only=True)
    _errands: set[asyncio.Task[None]] = field(default_factory=set)
    _histories: dict[str, asyncio.Event] = field(default_factory=dict)

    async def start(self, url: str) -> None:
        self.process.devices[self.name] = self
        start = {"url": url, "token": self.person.token, "device_id": self.name, "store": str(self.store)}
        await self._say({"do": "start", **start, "timing": TIMING})

    async def _say(self, command: Json) -> None:
        await self.process.say({"as": self.name, **command})

    def on_event(self, event: Json) -> None:
        match event["event"]:
            case "reset":
                self.resets.append(event["reason"])
                self.screen.reset()
                self.screen.read(event["messages"])
            case "item":
                joined = self.screen.apply(event["item"])
                if joined:
                    self._run_errand(joined)
            case "history":
                self.screen.read(event["messages"])
                self._histories[event["conversation_id"]].set()
            case "sent":
                self._sent(event["client_message_id"], event["message_id"], event["position"])
            case "refused":
                self.posts[event["client_message_id"]].refused = event["code"]
            case "state":
                self.states[event["is"]] += 1
                self.stopped = event["code"] if event["is"] == "stopped" else None
            case _:
                pass  # on its way, or typing

    def _run_errand(self, conversation: str) -> None:
        errand = asyncio.ensure_future(self._read_history(conversation))
        self._errands.add(errand)
        errand.add_done_callback(self._errands.discard)

    async def _read_history(self, conversation: str) -> None:
        """Asked until it is answered: this client leaves it to the application to ask again."""
        came = self._histories[conversation] = asyncio.Event()
        while not (came.is_set() or self.screen.has_left(conversation)):
            await self._say({"do": "history", "conversation_id": conversation, "limit": PAGE})
            with suppress(TimeoutError):
                async with asyncio.timeout(ASK_AGAIN):
                    await came.wait()

    async def _send(self, post: Post) -> None:
        content = {"type": "text", "text": post.text}
        send = {"client_message_id": post.name, "conversation_id": post.conversation, "content": content}
        await self._say({"do": "send", **send})

    async def read(self, conversation: str, message_id: str) -> None:
        await self._say({"do": "read", "conversation_id": conversation, "message_id": message_id})

    async def stop(self) -> None:
        """The client ends with its process."""
        for errand in self._errands:
            errand.cancel()

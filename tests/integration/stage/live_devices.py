"""Users, their devices on real sockets, and their actions: every device checks that its feeds have no gap."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.integration.stage.harness import Answer, Stage
from tests.integration.stage.webhooks import PHONE, Account, a_text, change, envelope
from waypost.runtime.process.server import Server
from waypost.runtime.process.uvicorn_runner import listen, web_server

SOON = 15
_names = itertools.count(1)


class Person(NamedTuple):
    user_id: str
    token: str

    @property
    def feed(self) -> str:
        return f"user:{self.user_id}"


class House(NamedTuple):
    """A server of the stage on a port."""

    server: Server
    url: str
    guests: list[ClientConnection]
    """Every connection that was made to it."""


async def person(stage: Stage, name: str = "Ann", role: str = "agent", key: str | None = None) -> Person:
    made = await stage.call("POST", "/api/v1/users", {"name": name, "role": role}, key=key)
    assert made.status == 201, made
    return Person(made.json["user_id"], made.json["token"])


async def people(stage: Stage, count: int) -> list[Person]:
    return [await person(stage, f"person {n}") for n in range(count)]


async def key(stage: Stage, role: str) -> str:
    made = await stage.call("POST", "/api/v1/keys", {"label": f"a {role}'s", "role": role})
    assert made.status == 201, made
    return str(made.json["key"])


async def chat(stage: Stage, by: Person, others: Sequence[Person], kind: str = "group", **more: Any) -> str:
    opened = {"kind": kind, "members": [other.user_id for other in others], **more}
    answer = await stage.call("POST", "/api/v1/conversations", opened, key=by.token)
    assert answer.status == 201, answer
    return str(answer.json["conversation_id"])


async def customer(stage: Stage, wamid: str = "wamid.in", text: str = "hi", account: Account | None = None) -> str:
    """A customer writes to the account; returns the conversation."""
    account = account or stage.acme
    said = await stage.post(envelope((account, [change(account, messages=[a_text(wamid, text)])])), account)
    assert said.status == 200, said
    found = await stage.get(f"/api/v1/conversations?phone={PHONE.replace('+', '%2B')}", account.key)
    return str(found["conversations"][0]["conversation_id"])


async def say(stage: Stage, by: Person | str, where: str, text: str | dict[str, Any], name: str = "") -> Answer:
    content = {"type": "text", "text": text} if isinstance(text, str) else text
    posted = {"client_message_id": name or f"c{next(_names)}", "conversation_id": where, "content": content}
    return await stage.call("POST", "/api/v1/messages", posted, key=by if isinstance(by, str) else by.token)


async def posted_id(stage: Stage, by: Person, where: str, text: str) -> str:
    """The id of what was posted."""
    answer = await say(stage, by, where, text)
    assert answer.status == 201, answer
    return str(answer.json["message_id"])


async def members(stage: Stage, by: Person, where: str, **changed: Sequence[Person]) -> None:
    named = {word: [each.user_id for each in whom] for word, whom in changed.items()}
    answer = await stage.call("POST", f"/api/v1/conversations/{where}/members", named, key=by.token)
    assert answer.status == 200, answer


async def history(stage: Stage, by: Person | str, where: str, expect: int = 200, **query: Any) -> Any:
    path = f"/api/v1/conversations/{where}/messages?{urlencode(query)}"
    answer = await stage.call("GET", path, key=by if isinstance(by, str) else by.token)
    assert answer.status == expect, answer
    return answer.json


async def sync(stage: Stage, by: Person, device: str = "poll", expect: int = 200, **query: Any) -> Any:
    if isinstance(query.get("cursors"), dict):
        query["cursors"] = msgspec.json.encode(query["cursors"]).decode()
    path = f"/api/v1/sync?{urlencode({'device_id': device, 'wait': 0, **query})}"
    answer = await stage.call("GET", path, key=by.token)
    assert answer.status == expect, answer
    return answer.json


@asynccontextmanager
async def house(stage: Stage, server: Server | None = None) -> AsyncIterator[House]:
    """The stage's server on a socket of this machine."""
    server = server or stage.server
    sock = listen("127.0.0.1", 0)
    web = web_server(server.app, server.websockets)
    serving = asyncio.ensure_future(web.serve(sockets=[sock]))
    here = House(server, f"ws://127.0.0.1:{sock.getsockname()[1]}/api/v1/ws", [])
    try:
        yield here
    finally:
        server.gateway.close_all()
        web.should_exit = True
        await asyncio.wait_for(serving, SOON)
        for guest in here.guests:  # a device with unread frames gets no close, and would stay
            guest.transport.abort()
            await guest.wait_closed()


@dataclass
class Device:
    """One connection, and what the device keeps from one to the next."""

    who: Person
    name: str = "phone"
    epoch: str | None = None
    cursors: dict[str, int] = field(default_factory=dict)
    items: list[dict[str, Any]] = field(default_factory=list)
    others: list[dict[str, Any]] = field(default_factory=list)
    """Frames that are no items, since the last hello."""
    connection: ClientConnection | None = None
    returns: set[tuple[str, int]] = field(default_factory=set)
    """Where feeds of groups continue that it had left for a while."""

    @property
    def line(self) -> ClientConnection:
        assert self.connection is not None
        return self.connection

    async def connect(self, house: House, *, headers: dict[str, str] | None = None, **options: Any) -> None:
        self.others = []
        self.connection = await connect(
            house.url, compression=None, ping_interval=None, additional_headers=headers, **options
        )
        house.guests.append(self.connection)

    async def say(self, type_: str, **fields: Any) -> None:
        await self.line.send(msgspec.json.encode({"type": type_, **fields}).decode())

    async def hello(self, house: House, sock: socket.socket | None = None, **more: Any) -> dict[str, Any]:
        """Connect with everything kept from before; returns the welcome."""
        await self.connect(house, sock=sock)
        kept: dict[str, Any] = {"epoch": self.epoch, "cursors": self.cursors} if self.epoch else {}
        await self.say("hello", **{"device_id": self.name, "token": self.who.token, **kept, **more})
        welcome = await self.until("welcome")
        self.epoch = welcome["epoch"]
        if not welcome["resumed"]:
            self.cursors = dict(welcome["heads"])
        return welcome

    async def live(self, house: House, **more: Any) -> dict[str, Any]:
        welcome = await self.hello(house, **more)
        await self.until("live")
        return welcome

    async def next(self) -> dict[str, Any]:
        frame: dict[str, Any] = msgspec.json.decode(await asyncio.wait_for(self.line.recv(), SOON))
        if frame["type"] == "item":
            self._take(frame)
        else:
            self.others.append(frame)
            if frame["type"] == "resync_required":
                self.epoch, self.cursors = frame["epoch"], dict(frame["heads"])
        return frame

    def _take(self, item: dict[str, Any]) -> None:
        assert item["prev"] == item["seq"] - 1
        stood = self.cursors.setdefault(item["feed"], item["prev"])
        goes_on = stood == item["prev"] or (item["feed"], item["prev"]) in self.returns
        assert goes_on, f"a gap or a repeat after {stood}: {item}"
        self.cursors[item["feed"]] = item["seq"]
        self.items.append(item)
        if joins := item.get("joins"):
            self.cursors.setdefault(joins["feed"], joins["from"])
            self.returns.add((joins["feed"], joins["from"]))

    async def until(self, type_: str, **fields: Any) -> dict[str, Any]:
        """The next frame of this type with these fields."""
        while True:
            frame = await self.next()
            if frame["type"] == type_ and all(frame.get(name) == value for name, value in fields.items()):
                return frame

    async def item(self, kind: str, **fields: Any) -> dict[str, Any]:
        return await self.until("item", kind=kind, **fields)

    async def hears(self, text: str) -> dict[str, Any]:
        """The item of the message with this text."""
        while True:
            item = await self.item("message")
            message: dict[str, Any] = item["message"]
            if message["content"].get("text") == text:
                return item

    async def settled(self) -> dict[str, Any]:
        """Everything sent when this was called has arrived; returns the heads of the feeds."""
        await self.say("ping")
        heads: dict[str, Any] = (await self.until("pong"))["heads"]
        return heads

    async def closing(self) -> tuple[int, str]:
        """The server's close code; every frame before it is read."""
        try:
            while True:
                await self.next()
        except ConnectionClosed:
            pass
        assert self.line.close_code is not None
        return self.line.close_code, self.line.close_reason or ""

    async def leave(self) -> None:
        await self.line.close()

    def cut(self) -> None:
        """Without a close frame, as networks do it."""
        self.line.transport.abort()

    def items_of(self, kind: str) -> list[dict[str, Any]]:
        return [item for item in self.items if item["kind"] == kind]

    def texts(self) -> list[str]:
        """What its screen shows, in order."""
        said = [item["message"]["content"] for item in self.items_of("message")]
        return [content.get("text", content["type"]) for content in said]

"""A server with only a WebSocket endpoint, handlers that record events, and clients that may misbehave."""

from __future__ import annotations

import asyncio
import logging
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.frames import Frame as WireFrame
from websockets.frames import Opcode

from waypost.http.live.websocket import WebSocketLimits, WebSocketServer
from waypost.http.live.websocket_handshake import PATH, same_host
from waypost.ports.live.live_connection import LiveConnection, alone
from waypost.runtime.process.uvicorn_runner import listen, web_server

SOON = 10
KEY = "dGhlIHNhbXBsZSBub25jZQ=="


@pytest.fixture(params=[True, False], ids=["uvloop", "asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param}


@pytest.fixture(autouse=True)
def nobody_warns(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


class Guest:
    """A handler that records events and, on request, echoes frames."""

    def __init__(self, link: LiveConnection, echo: bool) -> None:
        self.link = link
        self._echo = echo
        self.texts: asyncio.Queue[bytes] = asyncio.Queue()
        self.left = asyncio.Event()
        self.departures = 0

    def received(self, text: bytes) -> None:
        assert not self.departures
        if text == b"a bug, please":
            raise RuntimeError("asked for")
        self.texts.put_nowait(text)
        if self._echo:
            self.link.send(alone(text))

    def gone(self) -> None:
        self.departures += 1
        self.left.set()


class House:
    """A server with an endpoint, and its handlers."""

    def __init__(self, port: int, echo: bool, at_once: Callable[[LiveConnection], None]) -> None:
        self.port = port
        self._at_once = at_once
        self.url = f"ws://127.0.0.1:{port}{PATH}"
        self._echo = echo
        self.guests: asyncio.Queue[Guest] = asyncio.Queue()
        self.bugs: list[dict[str, Any]] = []

    def welcome(self, link: LiveConnection) -> Guest:
        self._at_once(link)
        guest = Guest(link, self._echo)
        self.guests.put_nowait(guest)
        return guest

    async def guest(self) -> Guest:
        return await asyncio.wait_for(self.guests.get(), SOON)


async def app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def house(
    limits: WebSocketLimits | None = None,
    *,
    echo: bool = True,
    also: tuple[str, ...] = (),
    bugs: int = 0,
    at_once: Callable[[LiveConnection], None] = lambda _: None,
) -> AsyncIterator[House]:
    sock = listen("127.0.0.1", 0)
    ours = House(sock.getsockname()[1], echo, at_once)
    asyncio.get_running_loop().set_exception_handler(lambda _, context: ours.bugs.append(context))
    door = WebSocketServer(ours.welcome, same_host(also), limits)
    server = web_server(app, door)
    serving = asyncio.ensure_future(server.serve(sockets=[sock]))
    try:
        yield ours
    finally:
        server.should_exit = True
        await asyncio.wait_for(serving, SOON)
    assert (len(ours.bugs), door.inside, server.server_state.connections) == (bugs, set(), set())


def visit(ours: House, **options: Any) -> Any:
    return connect(ours.url, compression=None, ping_interval=None, **options)


async def closing(client: ClientConnection) -> tuple[int, str]:
    """The server's close code."""
    await asyncio.wait_for(client.wait_closed(), SOON)
    assert client.close_code is not None
    return client.close_code, client.close_reason or ""


class Raw:
    """Raw bytes, without a library that would prevent invalid ones."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def closing(self) -> int:
        """The code of the close frame that comes; its reason fits in a frame's short form."""
        head = await asyncio.wait_for(self.reader.readexactly(2), SOON)
        assert head[0] == 0x80 | Opcode.CLOSE
        content = await asyncio.wait_for(self.reader.readexactly(head[1]), SOON)
        assert await asyncio.wait_for(self.reader.read(), SOON) == b""
        self.writer.close()
        return int(struct.unpack("!H", content[:2])[0])


def handshake(path: str = PATH, method: str = "GET", **changed: str | None) -> bytes:
    headers: dict[str, str | None] = {
        "Host": "chat.example.org",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": KEY,
        "Sec-WebSocket-Version": "13",
    }
    headers |= {name.replace("_", "-"): value for name, value in changed.items()}
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode()


@asynccontextmanager
async def raw(ours: House, request: bytes | None = None) -> AsyncIterator[Raw]:
    """With a request, only that is sent; without, the handshake is over when this begins."""
    reader, writer = await asyncio.open_connection("127.0.0.1", ours.port)
    writer.write(handshake() if request is None else request)
    if request is None:
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SOON)
        assert answer.startswith(b"HTTP/1.1 101 ")
    try:
        yield Raw(reader, writer)
    finally:
        writer.close()


async def refusal(ours: House, request: bytes) -> tuple[int, bytes]:
    async with raw(ours, request) as line:
        answer = await asyncio.wait_for(line.reader.readuntil(b"\r\n\r\n"), SOON)
        head = answer.lower()
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        content = await asyncio.wait_for(line.reader.readexactly(length), SOON)
        assert b"application/problem+json" in head
    return int(answer.split()[1]), content


def masked(opcode: Opcode, data: bytes, fin: bool = True) -> bytes:
    return WireFrame(opcode, data, fin).serialize(mask=True)

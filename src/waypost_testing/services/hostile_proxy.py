"""A proxy that misbehaves as a test asks: it cuts, delays, doubles, drops, swaps, freezes and blocks upgrades.

    async with HostileProxy("127.0.0.1", server_port) as proxy:
        proxy.drop("ack", 1)
        ...  # a client at proxy.url

Towards the client it knows each WebSocket frame of the server; what a client sends, and plain HTTP, passes as bytes.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from websockets.frames import Close, Frame, Opcode
from websockets.streams import StreamReader as FrameReader

_HEAD_ENDS = b"\r\n\r\n"
_PIECE = 64 * 1024
_UPGRADE = re.compile(rb"^upgrade:\s*websocket\s*$", re.IGNORECASE | re.MULTILINE)
_EXTENSIONS = re.compile(rb"^sec-websocket-extensions:.*\r\n", re.IGNORECASE | re.MULTILINE)
_BLOCKED = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_UNREACHABLE = (OSError, EOFError)
"""Errors of a relay when one of its ends is gone: asyncio.IncompleteReadError is an EOFError."""


class HostileProxy:
    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._listening: asyncio.Server | None = None
        self._port = 0
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.open = asyncio.Event()
        """Cleared: nothing passes."""
        self.open.set()
        self.orders = ProxyFaults()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def sockets(self) -> int:
        """How many WebSockets are open through it."""
        return sum(link.is_socket for link in self._links)

    async def __aenter__(self) -> Self:
        await self._listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._deaf()
        self.open.set()
        while self._tasks:  # a connection may have been accepted while others ended
            self.cut()
            await asyncio.wait(self._tasks)

    # Orders

    async def pass_all(self) -> None:
        """Pass everything unchanged again; frozen traffic continues."""
        self.orders = ProxyFaults()
        self.open.set()
        if self._listening is None:
            await self._listen()

    def cut(self, *, reset: bool = False) -> None:
        """Cut every connection now; `reset` sends RST, which also discards data in flight."""
        for link in list(self._links):
            link.cut(reset=reset)

    def cut_after(self, frames: int) -> None:
        """Cut every connection after this many more server frames."""
        self.orders.frames_left = frames

    def cut_on(self, kind: str) -> None:
        """Cut every connection when the server sends a frame of this `type`; the frame is lost."""
        self.orders.cut_on.add(kind)

    def delay(self, seconds: float) -> None:
        self.orders.delay = seconds

    def double(self) -> None:
        self.orders.double = True

    def drop(self, kind: str, count: int) -> None:
        """Drop the next frames of this `type`."""
        self.orders.drops[kind] += count

    def swap(self, kind: str) -> None:
        """Swap the next two frames of this `type`."""
        self.orders.swaps[kind] += 1

    def inject(self, frame: str | dict[str, Any]) -> None:
        """Send this frame to every client as if it came from the server."""
        text = frame if isinstance(frame, str) else json.dumps(frame)
        for link in list(self._links):
            link.send_frame(Frame(Opcode.TEXT, text.encode()))

    def close(self, code: int) -> None:
        """Close every socket towards its client with this code."""
        for link in list(self._links):
            link.send_frame(Frame(Opcode.CLOSE, Close(code, "").serialize()))
            link.finish()

    def block_upgrades(self) -> None:
        """Pass plain HTTP, refuse WebSockets and end the open ones."""
        self.orders.upgrades_blocked = True
        for link in list(self._links):
            if link.is_socket:
                link.cut()

    def stall(self) -> None:
        """Accept connections but pass nothing; freeze the open ones."""
        self.open.clear()

    async def refuse(self) -> None:
        """Stop listening and cut every open connection."""
        await self._deaf()
        self.cut()

    # Implementation

    async def _listen(self) -> None:
        self._listening = await asyncio.start_server(self._taken, "127.0.0.1", self._port)
        self._port = self._listening.sockets[0].getsockname()[1]

    async def _deaf(self) -> None:
        listening, self._listening = self._listening, None
        if listening is not None:
            listening.close()

    async def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        link = _Link(self, reader, writer)
        self._links.add(link)
        try:
            await link.run(*self._server)
        except _UNREACHABLE:
            pass
        finally:
            link.cut()
            self._links.discard(link)
            self._tasks.discard(task)


class ProxyFaults:
    """The faults that stay in force until `pass_all`."""

    def __init__(self) -> None:
        self.delay = 0.0
        self.double = False
        self.upgrades_blocked = False
        self.frames_left: int | None = None
        self.cut_on: set[str] = set()
        self.drops: Counter[str] = Counter()
        self.swaps: Counter[str] = Counter()
        self._held: dict[str, Frame] = {}

    def forbids(self, frame: Frame) -> bool:
        return frame.opcode is Opcode.TEXT and _kind(frame) in self.cut_on

    def treat(self, frame: Frame) -> list[Frame]:
        """The frames to pass on in place of this one."""
        if frame.opcode is not Opcode.TEXT:
            return [frame]
        kind = _kind(frame)
        if self.drops[kind] > 0:
            self.drops[kind] -= 1
            return []
        frames = self._swapped(kind, frame)
        return frames * 2 if self.double else frames

    def _swapped(self, kind: str, frame: Frame) -> list[Frame]:
        if self.swaps[kind] == 0:
            return [frame]
        if kind not in self._held:
            self._held[kind] = frame
            return []
        self.swaps[kind] -= 1
        return [frame, self._held.pop(kind)]

    def passed(self, frames: int) -> bool:
        """Whether the cut is due."""
        if self.frames_left is None:
            return False
        self.frames_left -= frames
        if self.frames_left > 0:
            return False
        self.frames_left = None
        return True


class _Link:
    """One client connection, and the connection to the server behind it."""

    def __init__(self, proxy: HostileProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy, self._reader, self._writer = proxy, reader, writer
        self._upstream: asyncio.StreamWriter | None = None
        self._late: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        self._unreleased = 0
        self.is_socket = False

    async def run(self, host: str, port: int) -> None:
        head = await self._reader.readuntil(_HEAD_ENDS)
        await self._proxy.open.wait()
        upgrade = _UPGRADE.search(head) is not None
        if upgrade and self._proxy.orders.upgrades_blocked:
            self._writer.write(_BLOCKED)
            await self._writer.drain()
            return
        answers, self._upstream = await asyncio.open_connection(host, port)
        self._upstream.write(_EXTENSIONS.sub(b"", head) if upgrade else head)  # uncompressed, so that we can read it
        back = self._frames_back(answers) if upgrade else self._relay(answers, self._writer)
        await _first_of(self._relay(self._reader, self._upstream), back, self._release())

    def send_frame(self, frame: Frame) -> None:
        if self.is_socket:
            self._writer.write(frame.serialize(mask=False))

    def finish(self) -> None:
        """Flush what was sent before the connection ends."""
        if self.is_socket:
            self._writer.close()
            if self._upstream is not None:
                self._upstream.transport.abort()

    def cut(self, *, reset: bool = False) -> None:
        if reset:
            raw = self._writer.get_extra_info("socket")
            with suppress(OSError):
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()
        if self._upstream is not None:
            self._upstream.transport.abort()

    async def _relay(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while piece := await source.read(_PIECE):
            await self._proxy.open.wait()
            target.write(piece)
            await target.drain()

    async def _frames_back(self, answers: asyncio.StreamReader) -> None:
        head = await answers.readuntil(_HEAD_ENDS)
        self._writer.write(head)
        if not head.startswith(b"HTTP/1.1 101"):
            await self._relay(answers, self._writer)
            return
        self.is_socket = True
        async for frame in _frames(answers):
            await self._proxy.open.wait()
            orders = self._proxy.orders
            if orders.forbids(frame):
                self._proxy.cut()
                return
            passing = orders.treat(frame)
            self._pass_on(passing, orders.delay)
            await self._writer.drain()
            if orders.passed(len(passing)):
                self._proxy.cut()
        await self._late.join()

    def _pass_on(self, frames: list[Frame], delay: float) -> None:
        due = asyncio.get_running_loop().time() + delay
        for frame in frames:
            data = frame.serialize(mask=False)
            if delay or self._unreleased:
                self._unreleased += 1
                self._late.put_nowait((due, data))
            else:
                self._writer.write(data)

    async def _release(self) -> None:
        """Send delayed frames when they are due, in order."""
        while True:
            due, data = await self._late.get()
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            await self._proxy.open.wait()
            self._writer.write(data)
            self._unreleased -= 1
            self._late.task_done()


async def _frames(source: asyncio.StreamReader) -> AsyncIterator[Frame]:
    reader = FrameReader()
    parsing = Frame.parse(reader.read_exact, mask=False, max_size=None)
    while piece := await source.read(_PIECE):
        reader.feed_data(piece)
        while (frame := _parsed(parsing)) is not None:
            yield frame
            parsing = Frame.parse(reader.read_exact, mask=False, max_size=None)


def _parsed(parsing: Any) -> Frame | None:
    """None: more bytes are needed."""
    try:
        next(parsing)
    except StopIteration as done:
        frame: Frame = done.value
        return frame
    return None


def _kind(frame: Frame) -> str:
    try:
        message = json.loads(bytes(frame.data))
    except ValueError:
        return ""
    return str(message.get("type", "")) if isinstance(message, dict) else ""


async def _first_of(*ways: Any) -> None:
    """Until one of them ends; the others end with it."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, Exception) and not isinstance(ended, _UNREACHABLE):
                raise ended

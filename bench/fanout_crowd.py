"""A crowd of WebSocket clients as cheap as can be: what arrives is counted by a marker, not parsed."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import cast

PATH = "/api/v1/ws"
MARKER = b'"type":"item"'
_SIZE = 200
_PATIENCE = 120
HEARTBEAT = 10
"""Seconds; a real client's is longer, but this one may be starved by its own crowd."""
_BIND_ADDRESS_NO_PORT = 24
"""Linux: the port is chosen when it is known for which connection, so that one address can have many more."""
_HANDSHAKE = (
    f"GET {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
).encode()


def frame(text: bytes) -> bytes:
    """A client's frame must be masked; a mask of zeros is one."""
    size = len(text)
    head = struct.pack("!BB", 0x81, 0x80 | size) if size < 126 else struct.pack("!BBH", 0x81, 0x80 | 126, size)
    return head + bytes(4) + text


def an_item(number: int) -> bytes:
    """200 bytes that a bare server hands out as they are."""
    start = b'{"type":"item","seq":%d,"text":"' % number
    return start + b"x" * (_SIZE - len(start) - 2) + b'"}'


@dataclass(frozen=True)
class SocketScript:
    """How to speak with a server; as it stands, with one that hands out what it gets. The first clients post, too."""

    hello: Callable[[int], bytes | None] = field(default=lambda _: None)
    """What client number n says first."""
    ready: bytes = b""
    """Found in what a client hears once it is live; empty: after the handshake."""
    post: Callable[[int], bytes] = an_item
    marker: bytes = MARKER
    """Found once in every item that came of a post, and in nothing else."""
    ping: bytes | None = None
    """What a client says now and then to be kept."""
    pong: bytes = b"}}"
    """Ends the answer to it."""
    numbered: bool = False
    """Items carry their place in the feed as `seq`: everybody must get each once and in order."""


POSTERS = 64
"""So many of a crowd take turns to post: one alone would meet the limit on frames of a connection."""
_SEQ = re.compile(rb'"seq":(\d+),')


class Crowd:
    """All clients of one run, and how many items they have got together."""

    def __init__(self, port: int, talk: SocketScript | None = None, host: str = "127.0.0.1") -> None:
        self.talk = talk or SocketScript()
        self.marker = self.talk.marker
        self.clients: list[Client] = []
        self.got = self.reads = self.ready = self.lost = 0
        self.last_words = b""
        self._address = (host, port)
        self._until: tuple[Callable[[], bool], asyncio.Future[None]] | None = None

    async def join(self, count: int, at_once: int = 200, source: str = "127.0.0.1") -> None:
        """Return once all are live; no more than so many are on the way at a time."""
        keeping = asyncio.ensure_future(self._keep_everybody())
        for first in range(0, count, at_once):
            await asyncio.gather(*(self._connect(source) for _ in range(min(at_once, count - first))))
            await self.until(lambda: self.ready >= len(self.clients))
        keeping.cancel()

    async def _keep_everybody(self) -> None:
        """Who came first must not be taken for gone while the last ones come."""
        while self.talk.ping is not None:
            await asyncio.sleep(HEARTBEAT)
            self.say(self.talk.ping)

    async def _connect(self, source: str) -> None:
        """By hand: the loop's own way looks up names in a thread, even where there are none."""
        loop = asyncio.get_running_loop()
        sock = socket.socket()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_IP, _BIND_ADDRESS_NO_PORT, 1)
        sock.bind((source, 0))
        await loop.sock_connect(sock, self._address)
        await loop.create_connection(self._client, sock=sock)

    def _client(self) -> Client:
        client = Client(self, len(self.clients))
        self.clients.append(client)
        return client

    async def until(self, reached: Callable[[], bool]) -> None:
        if not reached():
            self._until = (lambda: bool(self.lost) or reached(), asyncio.get_running_loop().create_future())
            await asyncio.wait_for(self._until[1], _PATIENCE)
        assert not self.lost, f"{self.lost} connections were lost, one after {self.last_words!r}"

    def has(self, items: int) -> bool:
        return self.got >= items

    def look(self) -> None:
        if self._until is not None and not self._until[1].done() and self._until[0]():
            self._until[1].set_result(None)

    async def ping(self) -> None:
        """Everybody says that they are there, and hears that they were heard."""
        if self.talk.ping is not None:
            self.marker, goal = self.talk.pong, self.got + len(self.clients)
            for client in self.clients:
                client.forget()  # the end of an item looks like the end of a pong
            self.say(self.talk.ping)
            await self.until(partial(self.has, goal))
            self.marker = self.talk.marker

    def say(self, text: bytes) -> None:
        for client in self.clients:
            if client.is_ready:
                client.transport.write(frame(text))

    def listen_closely(self) -> None:
        """From here on, keep what `check` needs: posters are told more than items, the others are told the same."""
        for client in self.clients:
            client.sum, client.seqs = 0, [] if client.number <= POSTERS else None

    def check(self, items: int) -> None:
        """Everybody got so many items, each once and in order."""
        everybody = self.clients if self.talk.numbered else []
        for client in everybody:
            if client.seqs is not None:
                first = client.seqs[0]
                assert client.seqs == list(range(first, first + items)), f"client {client.number} missed something"
        assert len({client.sum for client in everybody[POSTERS:]}) <= 1, "not everybody got the same"

    async def leave(self) -> None:
        """All at once and without a word, as when a network goes down."""
        assert not self.lost, f"{self.lost} connections were lost"
        clients, self.clients, self.ready = self.clients, [], 0
        everybody = asyncio.get_running_loop().create_future()
        self._until = (lambda: self.lost == len(clients), everybody)
        for client in clients:
            client.transport.abort()
        await everybody
        self.lost = 0


class Client(asyncio.Protocol):
    __slots__ = ("_crowd", "_open", "_ready", "_rest", "_tail", "number", "seqs", "sum", "transport")

    def __init__(self, crowd: Crowd, number: int) -> None:
        self._crowd = crowd
        self.number = number
        self._open = self._ready = False
        self._tail = self._rest = b""
        self.sum = 0
        self.seqs: list[int] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one without saying so
        self.transport.write(_HANDSHAKE)

    def data_received(self, data: bytes) -> None:
        crowd, marker = self._crowd, self._crowd.marker
        if not self._ready:
            self._get_ready(data)
            return
        if crowd.talk.numbered:
            self._note(data)
        data = self._tail + data
        found = data.count(marker)
        keep = len(marker) - 1  # it may be cut in two; less than the text that follows it
        self._tail = data[-keep:]
        if found:
            crowd.got += found
            crowd.reads += 1
            crowd.look()

    def forget(self) -> None:
        """What was heard last: all of it was counted."""
        self._tail = b""

    @property
    def is_ready(self) -> bool:
        return self._ready

    def _note(self, data: bytes) -> None:
        self.sum = zlib.crc32(data, self.sum)
        if self.seqs is not None:
            data, end = self._rest + data, 0
            for found in _SEQ.finditer(data):
                self.seqs.append(int(found[1]))
                end = found.end()
            self._rest = data[end:]

    def _get_ready(self, data: bytes) -> None:
        self._tail += data
        if not self._open:
            if b"\r\n\r\n" not in self._tail:
                return
            head, _, self._tail = self._tail.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 101 "), head
            self._open = True
            hello = self._crowd.talk.hello(self.number)
            if hello is not None:
                self.transport.write(frame(hello))
        if self._crowd.talk.ready in self._tail:
            self._tail = b""
            self._ready = True
            self._crowd.ready += 1
            self._crowd.look()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # lost is lost
        self._crowd.lost += 1
        self._crowd.last_words = self._tail
        self._crowd.look()


@dataclass(frozen=True)
class Fanned:
    """Posts to a crowd: `seconds` in all, the time of each from the post to the last of the crowd, items per read."""

    posts: int
    crowd: int
    seconds: float
    times: list[float]
    together: float

    @property
    def per_second(self) -> float:
        return self.posts * self.crowd / self.seconds

    def percentile(self, share: float) -> float:
        return sorted(self.times)[int(len(self.times) * share)] * 1e3


async def fan_out(crowd: Crowd, posts: int, in_flight: int) -> Fanned:
    """The first clients take turns to post: the next post leaves when everybody has got an earlier one."""
    size, base, reads = len(crowd.clients), crowd.got, crowd.reads
    crowd.listen_closely()
    sent: list[float] = []
    times: list[float] = []
    started = time.perf_counter()
    while len(times) < posts:
        now, done = time.perf_counter(), (crowd.got - base) // size
        times += [now - at for at in sent[len(times) : done]]
        for number in range(len(sent), min(posts, done + in_flight)):
            crowd.clients[number % POSTERS].transport.write(frame(crowd.talk.post(number)))
            sent.append(now)
        await crowd.until(partial(crowd.has, base + min(posts, done + 1) * size))
    seconds = time.perf_counter() - started
    crowd.check(posts)
    return Fanned(posts, size, seconds, times, posts * size / (crowd.reads - reads))

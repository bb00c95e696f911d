"""Posts in 500 chats of two, 64 in flight, by WebSocket and by REST: how many, and how long until the other sees it."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import uvloop

from bench import waypost_live
from bench.fanout_crowd import Client, Crowd, SocketScript, frame
from bench.peers.serving import cpu_seconds, running
from bench.table import Line
from waypost.model.conversation import ConversationId

CHATS = 500
IN_FLIGHT = 64
POSTS = 3_000
_WARM_UP = 256
_ITEM = b'"kind":"message"'

Post: TypeAlias = Callable[[int, bytes], None]
"""Person n posts this body; whether it was taken is seen on the other's screen."""


@dataclass(frozen=True)
class Posted:
    way: str
    seconds: float
    times: list[float]
    cpu: float

    @property
    def per_second(self) -> float:
        return len(self.times) / self.seconds

    def percentile(self, share: float) -> float:
        return sorted(self.times)[int(len(self.times) * share)] * 1e3

    def __str__(self) -> str:
        seen = f"on the other's screen p50 {self.percentile(0.5):.1f} ms, p99 {self.percentile(0.99):.1f} ms"
        each = self.cpu / len(self.times) * 1e6
        return f"{self.way}: {self.per_second:,.0f} posts/s, {seen}, server {each:.0f} µs of CPU each"


class Screen(Client):
    """Somebody's, and who waits for its next item."""

    items = 0
    seen: asyncio.Future[None] | None = None

    def data_received(self, data: bytes) -> None:
        if not self.is_ready:
            super().data_received(data)
            return
        self.items += data.count(_ITEM)  # an item leaves in one write, and is small
        if self.seen is not None and not self.seen.done() and self.items:
            self.seen.set_result(None)


class Screens(Crowd):
    def __init__(self, port: int, chats: list[ConversationId]) -> None:
        talk = SocketScript(
            hello=lambda n: waypost_live.hello(n, 2 * CHATS), ready=waypost_live.LIVE, ping=waypost_live.PING
        )
        super().__init__(port, talk)
        self._chats = chats
        self._names = itertools.count()
        self.screens: list[Screen] = []

    def _client(self) -> Client:
        screen = Screen(self, len(self.clients))
        self.clients.append(screen)
        self.screens.append(screen)
        return screen

    async def run(self, way: str, post: Post, posts: int, pid: int) -> Posted:
        """A chat's next post leaves when its last one was seen; at most so many at a time."""
        self.say(waypost_live.PING)
        before, started, times = cpu_seconds(pid), time.perf_counter(), list[float]()
        turns = iter(range(posts))
        await asyncio.gather(*(self._keep_posting(turns, post, times, place) for place in range(IN_FLIGHT)))
        return Posted(way, time.perf_counter() - started, times, cpu_seconds(pid) - before)

    async def _keep_posting(self, turns: Iterator[int], post: Post, times: list[float], place: int) -> None:
        own = itertools.cycle(range(place, CHATS, IN_FLIGHT))
        for _ in turns:
            chat = next(own)
            reader = self.screens[2 * chat + 1]
            reader.items, reader.seen = 0, asyncio.get_running_loop().create_future()
            began = time.perf_counter()
            post(2 * chat, json.dumps(waypost_live.a_post(f"m{next(self._names)}", self._chats[chat])).encode())
            await asyncio.wait_for(reader.seen, 30)
            times.append(time.perf_counter() - began)
            assert reader.items == 1, "a post came twice"

    def by_socket(self, writer: int, body: bytes) -> None:
        self.clients[writer].transport.write(frame(b'{"type":"send",' + body[1:]))


class Rest(asyncio.Protocol):
    """A connection that posts, and looks only at whether it was taken."""

    def data_received(self, data: bytes) -> None:
        assert data.count(b"HTTP/1.1 ") == data.count(b"HTTP/1.1 201"), data


async def by_rest(port: int) -> Post:
    loop = asyncio.get_running_loop()
    made = [(await loop.create_connection(Rest, "127.0.0.1", port))[0] for _ in range(IN_FLIGHT)]

    def post(writer: int, body: bytes) -> None:
        head = (
            "POST /api/v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {waypost_live.token(writer)}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        made[writer // 2 % IN_FLIGHT].write(head.encode() + body)

    return post


async def by_socket(pid: int, port: int, chats: list[ConversationId]) -> Posted:
    """Only that way."""
    screens = Screens(port, chats)
    await screens.join(2 * CHATS)
    found = await _way("by WebSocket", screens, screens.by_socket, pid)
    await screens.leave()
    return found


async def _run(pid: int, port: int, chats: list[ConversationId]) -> list[Posted]:
    screens = Screens(port, chats)
    await screens.join(2 * CHATS)
    found = [await _way("by WebSocket", screens, screens.by_socket, pid)]
    found.append(await _way("by REST", screens, await by_rest(port), pid))  # connected now: idle ones are closed
    await screens.leave()
    return found


async def _way(way: str, screens: Screens, post: Post, pid: int) -> Posted:
    await screens.run(way, post, _WARM_UP, pid)
    return await screens.run(way, post, POSTS, pid)


def measure(url: str, _rounds: int, _count: int) -> list[Line]:
    lines = []
    with waypost_live.ledgers(url) as ledgers:
        for name, own in ledgers:
            uvloop.run(waypost_live.prepare(own, 2 * CHATS))
            chats = uvloop.run(waypost_live.open_directs(own, CHATS))
            with running("bench.waypost_live", ["--url", own]) as (pid, port):
                found = uvloop.run(_run(pid, port, chats))
            for each in found:
                print(f"{name}, {each}", flush=True)
            lines += [line for each in found for line in _lines(f"{name}, {each.way}", each)]
    return lines


def _lines(name: str, posted: Posted) -> list[Line]:
    return [
        Line("posting", f"{name}, {IN_FLIGHT} in flight", posted.per_second, "posts/s"),
        Line("posting", f"{name}, a server's core", len(posted.times) / posted.cpu, "posts/s"),
        Line("posting", f"{name}, post → other's screen, p50", posted.percentile(0.5), "ms"),
        Line("posting", f"{name}, post → other's screen, p99", posted.percentile(0.99), "ms"),
    ]

"""Between clients and several servers: each connection goes to one that lives; links are cut and frozen on demand."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

_PIECE = 64 * 1024
_NOW = struct.pack("ii", 1, 0)
"""SO_LINGER: the connection ends with RST, and what was on its way is thrown away."""


class Relay:
    def __init__(self, ports: list[int], dice: random.Random) -> None:
        self.ports, self._dice = ports, dice
        self._listening: asyncio.Server | None = None
        self._links: set[_Link] = set()
        self.port = 0
        self.cuts = 0
        self.freezes = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._listening = await asyncio.start_server(self._taken, "127.0.0.1", 0, backlog=1024)
        self.port = self._listening.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._listening is not None
        self._listening.close()
        for link in list(self._links):
            link.end()
        await asyncio.gather(*(link.over.wait() for link in list(self._links)))

    def cut(self, share: float) -> None:
        for link in self._some(share):
            link.end(reset=self._dice.random() < 0.5)
            self.cuts += 1

    def freeze(self, share: float) -> None:
        """Nothing passes any more, and nobody is told."""
        for link in self._some(share):
            link.moving.clear()
            self.freezes += 1

    def _some(self, share: float) -> list[_Link]:
        moving = sorted((link for link in self._links if link.moving.is_set()), key=lambda link: link.number)
        return self._dice.sample(moving, round(len(moving) * share))

    async def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = _Link(writer)
        self._links.add(link)
        try:
            await link.run(reader, self._dice.sample(self.ports, len(self.ports)))
        finally:
            self._links.discard(link)
            link.over.set()


class _Link:
    count = 0

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        _Link.count += 1
        self.number = _Link.count
        self._writers = [writer]
        self.moving = asyncio.Event()
        self.moving.set()
        self.over = asyncio.Event()
        self._ended = asyncio.Event()

    async def run(self, reader: asyncio.StreamReader, ports: list[int]) -> None:
        for port in ports:
            with suppress(OSError):
                answers, upstream = await asyncio.open_connection("127.0.0.1", port)
                self._writers.append(upstream)
                pumps = [self._pump(reader, upstream), self._pump(answers, self._writers[0]), self._ended.wait()]
                await _first_of(pumps)
                break
        self.end()

    def end(self, *, reset: bool = False) -> None:
        self._ended.set()
        for writer in self._writers:
            if reset and not writer.transport.is_closing():
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NOW)
            writer.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await source.read(_PIECE):
                await self.moving.wait()
                target.write(piece)
                await target.drain()
            target.close()
            await target.wait_closed()


async def _first_of(ways: Sequence[Coroutine[Any, Any, Any]]) -> None:
    """Until one of them ends; the others end with it."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

"""Hints within one process, and between the processes of one machine by Unix datagrams."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from waypost.model.time import Span, as_seconds

_LARGEST = 60_000
"""Bytes in one datagram."""


class _Listener:
    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self._named: dict[str, None] = {}

    def wake(self, name: str | None = None) -> None:
        if name is not None:
            self._named[name] = None
        self._woken.set()

    def named(self) -> list[str]:
        names = list(self._named)
        self._named.clear()
        return names

    async def wait(self, timeout: Span) -> bool:
        try:
            async with asyncio.timeout(as_seconds(timeout)):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True


class ProcessHints:
    """For one process; `forward` sends given topics on to other processes, until `hang_up`."""

    def __init__(
        self, forward: Callable[[Iterable[str]], None] | None = None, hang_up: Callable[[], None] | None = None
    ) -> None:
        self._listeners: dict[str, list[_Listener]] = {}
        self._forward = forward
        self._hang_up = hang_up

    def close(self) -> None:
        self._forward = None
        if self._hang_up:
            self._hang_up()
            self._hang_up = None

    def give(self, topics: Iterable[str]) -> None:
        given = list(topics)
        self.deliver(given)
        if self._forward and given:
            self._forward(given)

    def deliver(self, topics: Iterable[str]) -> None:
        for topic in topics:
            for listener in self._listeners.get(topic, ()):
                listener.wake()
            kind, _, name = topic.partition(":")
            if name:
                for listener in self._listeners.get(kind, ()):
                    listener.wake(name)

    def listen(self, topic: str) -> AbstractContextManager[_Listener]:
        return self._listening(topic)

    @contextmanager
    def _listening(self, topic: str) -> Iterator[_Listener]:
        listener = _Listener()
        self._listeners.setdefault(topic, []).append(listener)
        try:
            yield listener
        finally:
            left = [other for other in self._listeners[topic] if other is not listener]
            if left:
                self._listeners[topic] = left
            else:
                del self._listeners[topic]


class LocalBroadcast:
    """Datagrams to every other process with a socket in the folder; hints may be lost."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._own = folder / f"{name}.hint"
        self._waiting: dict[str, None] = {}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def open(self, deliver: Callable[[list[str]], None]) -> None:
        """Bind under another name first, so that every visible socket can be reached."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        unseen = self._own.with_suffix(".new")
        self._socket.bind(str(unseen))
        unseen.rename(self._own)
        asyncio.get_running_loop().add_reader(self._socket, self._receive, deliver)

    def _receive(self, deliver: Callable[[list[str]], None]) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                deliver(self._socket.recv(_LARGEST).decode().split("\n"))

    def post(self, topics: Iterable[str]) -> None:
        """Collect topics, and send them together in the next loop iteration."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._send)
        self._waiting.update(dict.fromkeys(topics))

    def _send(self) -> None:
        datagrams = list(_datagrams(self._waiting))
        self._waiting.clear()
        for other in self._folder.glob("*.hint"):
            if other != self._own:
                self._send_to(other, datagrams)

    def _send_to(self, other: Path, datagrams: list[bytes]) -> None:
        try:
            for datagram in datagrams:
                self._socket.sendto(datagram, str(other))
        except ConnectionRefusedError:
            other.unlink(missing_ok=True)  # its process is gone
        except OSError:
            pass  # full or gone: the other process polls

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        self._own.unlink(missing_ok=True)


def _datagrams(topics: Iterable[str]) -> Iterator[bytes]:
    """The fewest datagrams that hold all topics; no topic is split."""
    together: list[bytes] = []
    size = 0
    for topic in topics:
        word = topic.encode()
        if size + len(word) > _LARGEST:
            yield b"\n".join(together)
            together, size = [], 0
        together.append(word)
        size += len(word) + 1
    if together:
        yield b"\n".join(together)

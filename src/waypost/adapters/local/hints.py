"""Wake-ups inside one process, and between the processes of one machine by Unix datagrams."""

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


class _Ear:
    def __init__(self) -> None:
        self._heard = asyncio.Event()
        self._named: dict[str, None] = {}

    def hear(self, name: str | None = None) -> None:
        if name is not None:
            self._named[name] = None
        self._heard.set()

    def named(self) -> list[str]:
        names = list(self._named)
        self._named.clear()
        return names

    async def wait(self, timeout: Span) -> bool:
        try:
            async with asyncio.timeout(as_seconds(timeout)):
                await self._heard.wait()
        except TimeoutError:
            return False
        self._heard.clear()
        return True


class ProcessHints:
    """For one process; `forward` hands what is given on to whoever reaches the others, until `hang_up`."""

    def __init__(
        self, forward: Callable[[Iterable[str]], None] | None = None, hang_up: Callable[[], None] | None = None
    ) -> None:
        self._ears: dict[str, list[_Ear]] = {}
        self._forward = forward
        self._hang_up = hang_up

    def close(self) -> None:
        self._forward = None
        if self._hang_up:
            self._hang_up()
            self._hang_up = None

    def give(self, topics: Iterable[str]) -> None:
        given = list(topics)
        self.hear(given)
        if self._forward and given:
            self._forward(given)

    def hear(self, topics: Iterable[str]) -> None:
        for topic in topics:
            for ear in self._ears.get(topic, ()):
                ear.hear()
            kind, _, name = topic.partition(":")
            if name:
                for ear in self._ears.get(kind, ()):
                    ear.hear(name)

    def listen(self, topic: str) -> AbstractContextManager[_Ear]:
        return self._listening(topic)

    @contextmanager
    def _listening(self, topic: str) -> Iterator[_Ear]:
        ear = _Ear()
        self._ears.setdefault(topic, []).append(ear)
        try:
            yield ear
        finally:
            left = [other for other in self._ears[topic] if other is not ear]
            if left:
                self._ears[topic] = left
            else:
                del self._ears[topic]


class NeighbourPost:
    """Datagrams to every other process with a socket in the folder; what does not get through is lost: hints may be."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._own = folder / f"{name}.hint"
        self._waiting: dict[str, None] = {}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def open(self, hear: Callable[[list[str]], None]) -> None:
        """Bound under another name first: whoever sees the socket in the folder can reach it."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        unseen = self._own.with_suffix(".new")
        self._socket.bind(str(unseen))
        unseen.rename(self._own)
        asyncio.get_running_loop().add_reader(self._socket, self._receive, hear)

    def _receive(self, hear: Callable[[list[str]], None]) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                hear(self._socket.recv(_LARGEST).decode().split("\n"))

    def post(self, topics: Iterable[str]) -> None:
        """Collect, and send once when the loop comes round."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._send)
        self._waiting.update(dict.fromkeys(topics))

    def _send(self) -> None:
        letters = list(_letters(self._waiting))
        self._waiting.clear()
        for other in self._folder.glob("*.hint"):
            if other != self._own:
                self._send_to(other, letters)

    def _send_to(self, other: Path, letters: list[bytes]) -> None:
        try:
            for letter in letters:
                self._socket.sendto(letter, str(other))
        except ConnectionRefusedError:
            other.unlink(missing_ok=True)  # its process is gone
        except OSError:
            pass  # full or vanished: the others poll

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        self._own.unlink(missing_ok=True)


def _letters(topics: Iterable[str]) -> Iterator[bytes]:
    """As few datagrams as hold them all, no topic cut in two."""
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

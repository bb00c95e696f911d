"""A live line to one client: what a transport offers, and what a conversation over it must take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

import msgspec


class Frame:
    """One JSON text in UTF-8, the same for everybody who gets it; `wire` is what a transport made of it, kept there."""

    __slots__ = ("text", "wire")

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.wire: bytes | None = None


class Bundle:
    """Frames that go out together, in this order; joined once by the transport, however many links send it."""

    __slots__ = ("frames", "wire")

    def __init__(self, frames: Iterable[Frame]) -> None:
        self.frames = tuple(frames)
        self.wire: bytes | None = None


def alone(text: bytes) -> Bundle:
    """For what only one client gets."""
    return Bundle((Frame(text),))


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """What a client said of itself when it knocked."""

    address: str
    origin: str | None = None
    authorization: str | None = None
    cookie: str | None = None

    def __repr__(self) -> str:
        """Without its secrets: this may reach a log."""
        return f"Caller(address={self.address!r}, origin={self.origin!r})"


class Link(Protocol):
    """All of it is called on the loop that serves the link, never blocks, and does nothing once the link is closed."""

    @property
    def caller(self) -> Caller: ...

    @property
    def waiting(self) -> int:
        """Bytes that were sent and that the network has not taken yet; 0 once the link is gone."""

    def send(self, bundle: Bundle) -> None:
        """Its frames, whole and in order, behind whatever was sent before; nothing bounds what waits but the caller."""

    def pause(self) -> None:
        """Hear nothing more for now: the client is made to wait. A client that leaves meanwhile may go unnoticed."""

    def resume(self) -> None:
        """Hear on, beginning with what had arrived before the pause."""

    def close(self, code: int, reason: str) -> None:
        """Say why and close behind whatever waits; nothing is heard any more, `gone` follows within seconds."""


class Visitor(Protocol):
    """A conversation over one link. An exception out of it closes the link and is logged as a bug."""

    def heard(self, text: bytes) -> None:
        """One whole text frame, valid UTF-8 and within the size limit."""

    def gone(self) -> None:
        """The link is closed or lost, whoever closed it; called exactly once, and nothing is called after it."""


Welcome: TypeAlias = Callable[[Link], Visitor]
"""Called when a link is open: it may send, pause or close at once."""

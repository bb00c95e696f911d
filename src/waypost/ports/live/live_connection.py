"""A live connection to one client, and the handler of its frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

import msgspec


class Frame:
    """One JSON text in UTF-8, shared by all recipients; `encoded` caches the transport's encoding of it."""

    __slots__ = ("encoded", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.encoded: bytes | None = None


class Bundle:
    """Frames to send together, in order; the transport encodes it once for all connections."""

    __slots__ = ("encoded", "frames")

    def __init__(self, frames: Iterable[Frame]) -> None:
        self.frames = tuple(frames)
        self.encoded: bytes | None = None


def alone(text: bytes) -> Bundle:
    """A bundle of one frame for one client."""
    return Bundle((Frame(text),))


class HandshakeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The client's data from the handshake."""

    address: str
    origin: str | None = None
    authorization: str | None = None
    cookie: str | None = None

    def __repr__(self) -> str:
        """Omits the secrets, since this may be logged."""
        return f"HandshakeInfo(address={self.address!r}, origin={self.origin!r})"


class LiveConnection(Protocol):
    """Called on the event loop of the connection; never blocks, and does nothing once it is closed."""

    @property
    def caller(self) -> HandshakeInfo: ...

    @property
    def waiting(self) -> int:
        """Bytes sent that the network has not accepted yet; 0 once the connection is closed."""

    def send(self, bundle: Bundle) -> None:
        """Send frames in order after earlier ones; the caller must limit how much is `waiting`."""

    def pause(self) -> None:
        """Stop reading, so that the client must wait. A disconnect in the meantime may go unnoticed."""

    def resume(self) -> None:
        """Continue to read, starting with frames received before the pause."""

    def close(self, code: int, reason: str) -> None:
        """Send a close frame after all waiting frames; nothing more is received, and `gone` follows within seconds."""


class ConnectionHandler(Protocol):
    """Handles the frames of one connection. An exception closes the connection and is logged as a bug."""

    def received(self, text: bytes) -> None:
        """One whole text frame, valid UTF-8 and within the size limit."""

    def gone(self) -> None:
        """The connection was closed or lost, by either side; called exactly once, as the last call."""


ConnectionHandlerFactory: TypeAlias = Callable[[LiveConnection], ConnectionHandler]
"""Called when a connection is open; it may send, pause or close at once."""

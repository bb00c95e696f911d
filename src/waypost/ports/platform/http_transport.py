"""Outgoing HTTP requests, and the failures that a sender must distinguish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec


class HttpReply(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class TransportError(Exception):
    """No complete reply was received."""


class ConnectFailed(TransportError):
    """The request provably never reached the other side: no connection was made."""


class ReplyTimedOut(TransportError):
    """No reply in time; the other side may have acted on the request."""


class ConnectionCut(TransportError):
    """The connection broke after the request may have been sent; the other side may have acted on it."""


class ReplyTooLarge(TransportError):
    """The reply is larger than the caller's limit; the rest was not read."""


class HttpTransport(Protocol):
    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout: float,
        limit: int | None = None,
    ) -> HttpReply:
        """Send one request and return the whole reply, whatever its status; never retries.

        Raises ConnectFailed, ReplyTimedOut or ConnectionCut.
        `timeout` is in seconds and covers connecting and reading together.
        With `limit`, a larger body raises ReplyTooLarge, and at most about `limit` bytes are held in memory.
        """

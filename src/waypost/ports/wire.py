"""One HTTP request out, and the three ways it can go wrong that a sender must tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec


class Reply(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class WireError(Exception):
    """No whole reply came back."""


class Refused(WireError):
    """The request provably never reached the other side: no connection was made."""


class TimedOut(WireError):
    """No reply in time; the other side may have acted on the request."""


class Cut(WireError):
    """The connection broke after the request may have left; the other side may have acted on it."""


class TooLarge(WireError):
    """The reply has more bytes than the caller takes; the rest was not read."""


class Wire(Protocol):
    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout: float,
        limit: int | None = None,
    ) -> Reply:
        """Send one request and return the whole reply, whatever its status; never retries by itself.

        Raises Refused, TimedOut or Cut. `timeout` is in seconds and covers connecting and reading together.
        With `limit`, a reply whose body has more bytes raises TooLarge, and no more than about that is ever held.
        """

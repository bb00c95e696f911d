"""Answers after which the connection closes: 503, so that the client tries another process, and 413."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

from waypost.http.edge.webhook_endpoint import AsgiReceive, AsgiScope, AsgiSend

CLOSING = frozenset({413, 503})
TOO_LARGE = 413
DRAINED, DRAINED_FOR = 32 * 1024 * 1024, 5.0
"""Bytes and seconds of an unread body. If the connection closed earlier, the client would lose the answer."""
SMALLEST = 1024
"""Bytes that a chunk counts for at least."""
_CLOSE = (b"connection", b"close")


class LastAnswer:
    """The `receive` and `send` of one request."""

    def __init__(self, scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
        self._receive = receive
        self._send = send
        self._unread = all(name != b"expect" for name, _ in scope["headers"])  # such a client has not sent it
        self._too_large = False

    async def receive(self) -> MutableMapping[str, Any]:
        event = await self._receive()
        self._unread = event.get("more_body", False)
        return event

    async def send(self, event: MutableMapping[str, Any]) -> None:
        if event["type"] == "http.response.start" and event["status"] in CLOSING:
            self._too_large = event["status"] == TOO_LARGE
            event = {**event, "headers": [*event["headers"], _CLOSE]}
        elif self._too_large and self._unread and not event.get("more_body", False):
            await self._send({**event, "more_body": True})
            await self._drain()
            event = {"type": "http.response.body", "body": b""}
        await self._send(event)

    async def _drain(self) -> None:
        size = 0
        try:
            async with asyncio.timeout(DRAINED_FOR):
                while self._unread and size < DRAINED:
                    size += max(SMALLEST, len((await self.receive()).get("body", b"")))
        except TimeoutError:
            return

"""A WebSocket connection to the server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.protocol import State as Phase

from waypost.client.rest import API
from waypost.client.types import Json

ABNORMAL = 1006
_LARGEST_FRAME = 16 * 1024 * 1024
_FAREWELL = 0.5
"""Seconds for the closing handshake."""
_PATIENCE = 5.0
_SCHEMES = {"http": "ws", "https": "wss"}


class NotOpened(Exception):
    """The connection was refused, timed out, or not answered with 101."""


class WebSocketConnection:
    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    @property
    def code(self) -> int:
        """The close code."""
        return self._connection.close_code or ABNORMAL

    async def send(self, frame: Mapping[str, Any]) -> None:
        """A frame on a broken connection is lost silently: the sender notices the missing answer."""
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._connection.send(msgspec.json.encode(frame).decode())
        except ConnectionClosed:
            return
        except TimeoutError:  # the other end does not read
            self.drop()

    async def receive(self) -> Json | None:
        """The next frame, or None at the end; skips frames that are not JSON objects."""
        while True:
            try:
                frame = _decoded(await self._connection.recv())
            except ConnectionClosed:
                return None
            if frame is not None:
                return frame

    async def close(self) -> None:
        await self._connection.close()
        self.drop()

    def drop(self) -> None:
        """Closes without a handshake, since the other side seems dead."""
        if self._connection.state is not Phase.CLOSED:
            self._connection.transport.abort()


def socket_address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or not parts.netloc:
        raise ValueError(f"the server's URL must begin with http:// or https://, not {parts.scheme!r}")
    return urlunsplit((_SCHEMES[parts.scheme], parts.netloc, parts.path.rstrip("/") + API + "/ws", "", ""))


async def open_websocket(url: str, token: str, timeout: float) -> WebSocketConnection:
    """`url` is the server's, http or https; `timeout` is in seconds."""
    try:
        connection = await connect(
            socket_address(url),
            additional_headers={"Authorization": f"Bearer {token}"},
            user_agent_header="waypost-client",
            open_timeout=timeout,
            close_timeout=_FAREWELL,
            ping_interval=None,  # our own heartbeat also carries the heads
            max_size=_LARGEST_FRAME,
        )
    except (OSError, TimeoutError, InvalidHandshake, EOFError) as error:
        raise NotOpened(str(error)) from error
    return WebSocketConnection(connection)


def _decoded(content: str | bytes) -> Json | None:
    try:
        frame = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return frame if isinstance(frame, dict) else None

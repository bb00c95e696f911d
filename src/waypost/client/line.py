"""One WebSocket, from its opening to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.protocol import State as Phase

from waypost.client.nouns import Json
from waypost.client.rest import API

ABNORMAL = 1006
_LARGEST_FRAME = 16 * 1024 * 1024
_FAREWELL = 0.5
"""Seconds for the closing handshake: nobody waits for a server that is gone."""
_PATIENCE = 5.0
_SCHEMES = {"http": "ws", "https": "wss"}


class NotOpened(Exception):
    """Refused, too late, or answered with anything but 101."""


class Line:
    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    @property
    def code(self) -> int:
        """Why it ended."""
        return self._connection.close_code or ABNORMAL

    async def send(self, frame: Mapping[str, Any]) -> None:
        """A frame that finds the line broken is lost like one that breaks on its way: who waits for an answer knows."""
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._connection.send(msgspec.json.encode(frame).decode())
        except ConnectionClosed:
            return
        except TimeoutError:  # nobody takes anything at the other end
            self.drop()

    async def hear(self) -> Json | None:
        """The next frame, None at the end; what is no JSON object is passed over."""
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
        """Without a word: the other side is thought to be dead."""
        if self._connection.state is not Phase.CLOSED:
            self._connection.transport.abort()


def socket_address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or not parts.netloc:
        raise ValueError(f"a server's address begins with http:// or https://, this one does not: {parts.scheme}")
    return urlunsplit((_SCHEMES[parts.scheme], parts.netloc, parts.path.rstrip("/") + API + "/ws", "", ""))


async def open_line(url: str, token: str, timeout: float) -> Line:
    """`url` is the server's, http or https; `timeout` in seconds."""
    try:
        connection = await connect(
            socket_address(url),
            additional_headers={"Authorization": f"Bearer {token}"},
            user_agent_header="waypost-client",
            open_timeout=timeout,
            close_timeout=_FAREWELL,
            ping_interval=None,  # our own heartbeat also brings the heads
            max_size=_LARGEST_FRAME,
        )
    except (OSError, TimeoutError, InvalidHandshake, EOFError) as error:
        raise NotOpened(str(error)) from error
    return Line(connection)


def _decoded(told: str | bytes) -> Json | None:
    try:
        frame = msgspec.json.decode(told)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return frame if isinstance(frame, dict) else None

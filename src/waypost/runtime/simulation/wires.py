"""Wires that note what passes: the servers' way to the provider, and the provider's way back through a balancer."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from waypost.ports.wire import Reply, Wire, WireError
from waypost.runtime.simulation.record import Posted, Record, Sent

FRONT = "waypost"
"""The name behind which a balancer picks one of the servers."""


class WatchedWire:
    """A server's wire; each request to the provider is noted, and whether its acceptance came back."""

    def __init__(self, wire: Wire, record: Record, server: str, life: int) -> None:
        self._wire = wire
        self._record = record
        self._server = server
        self._life = life

    async def request(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes = b"", timeout: float
    ) -> Reply:
        call: dict[str, Any] = msgspec.json.decode(body)
        stamp, text = str(call.get("biz_opaque_callback_data", "")), call["text"]["body"]
        sent = Sent(self._server, self._life, self._record.now(), stamp, text)
        self._record.sent.append(sent)
        reply = await self._wire.request(method, url, headers=headers, body=body, timeout=timeout)
        if reply.status == 200:
            sent.answered = self._record.now()
            sent.wamid = msgspec.json.decode(reply.body)["messages"][0]["id"]
        return reply


class BalancedWire:
    """The provider's wire: a request to the front goes to any server, and what became of each webhook is noted."""

    def __init__(self, wire: Wire, record: Record, servers: Sequence[str], dice: random.Random) -> None:
        self._wire = wire
        self._record = record
        self._servers = servers
        self._dice = dice

    async def request(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes = b"", timeout: float
    ) -> Reply:
        target = url.replace(f"//{FRONT}/", f"//{self._dice.choice(self._servers)}/", 1)
        asked = self._record.now()
        ok = False
        try:
            reply = await self._wire.request(method, target, headers=headers, body=body, timeout=timeout)
            ok = reply.status == 200
        except WireError:
            self._note(body, asked, ok)
            raise
        self._note(body, asked, ok)
        return reply

    def _note(self, body: bytes, asked: int, ok: bool) -> None:
        value = msgspec.json.decode(body)["entry"][0]["changes"][0]["value"]
        for status in value.get("statuses", ()):
            echo = "biz_opaque_callback_data" in status
            posted = Posted(asked, self._record.now(), status["id"], status["status"], echo, ok)
            self._record.posted.setdefault(posted.wamid, []).append(posted)
        for message in value.get("messages", ()):
            self._record.inbound[message["id"]] = self._record.inbound.get(message["id"], False) or ok

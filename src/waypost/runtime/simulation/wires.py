"""Wires that note what passes: the servers' way to the provider, and the provider's way back through a balancer."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from waypost.ports.wire import Refused, Reply, Wire, WireError
from waypost.runtime.simulation.record import Posted, Record, Refusal, Sent

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
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout: float,
        limit: int | None = None,
    ) -> Reply:
        if method != "POST":  # a list of templates
            return await self._wire.request(method, url, headers=headers, body=body, timeout=timeout, limit=limit)
        call = msgspec.json.decode(body)
        if "to" not in call:  # a sign that a message was read
            return await self._wire.request(method, url, headers=headers, body=body, timeout=timeout, limit=limit)
        sent = self._noted(url, call)
        try:
            reply = await self._wire.request(method, url, headers=headers, body=body, timeout=timeout, limit=limit)
        except Refused:
            sent.unreached = True
            raise
        sent.answered = self._record.now()
        if reply.status == 200:
            sent.wamid = msgspec.json.decode(reply.body)["messages"][0]["id"]
        else:
            sent.refused = _refusal(reply)
        return reply

    def _noted(self, url: str, call: dict[str, Any]) -> Sent:
        sent = Sent(
            self._server,
            self._life,
            self._record.now(),
            str(call.get("biz_opaque_callback_data", "")),
            text_of(call),
            number=url.split("/")[-2],
            to=f"+{str(call['to']).removeprefix('+')}",
            template=call["type"] == "template",
        )
        self._record.sent.append(sent)
        return sent


def text_of(call: dict[str, Any]) -> str:
    """What the phone shows of the caller's wish: the text itself, or a template's first parameter."""
    if call["type"] == "template":
        return str(call["template"]["components"][0]["parameters"][0]["text"])
    return str(call["text"]["body"])


def _refusal(reply: Reply) -> Refusal | None:
    """A gateway's page is no answer of the provider's: whether it took the message stays in doubt."""
    try:
        code = msgspec.json.decode(reply.body)["error"]["code"]
    except (msgspec.DecodeError, KeyError, TypeError):
        return None
    asked = reply.headers.get("retry-after")
    return Refusal(int(code), float(asked) if asked else None)


class BalancedWire:
    """The provider's wire: a request to the front goes to any server, and what became of each webhook is noted."""

    def __init__(self, wire: Wire, record: Record, servers: Sequence[str], dice: random.Random) -> None:
        self._wire = wire
        self._record = record
        self._servers = servers
        self._dice = dice

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
        target = url.replace(f"//{FRONT}/", f"//{self._dice.choice(self._servers)}/", 1)
        asked = self._record.now()
        ok = False
        try:
            reply = await self._wire.request(method, target, headers=headers, body=body, timeout=timeout, limit=limit)
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
            pair = (value["metadata"]["phone_number_id"], f"+{message['from']}")
            self._record.written.setdefault(pair, []).append(int(message["timestamp"]) * 1_000_000)
            self._record.inbound[message["id"]] = self._record.inbound.get(message["id"], False) or ok
            self._record.words[message["id"]] = (message["text"]["body"], int(message["timestamp"]))

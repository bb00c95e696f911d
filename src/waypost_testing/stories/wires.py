"""Transports that record traffic: from the servers to the provider, and from the provider through a balancer."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from waypost.ports.platform.http_transport import ConnectFailed, HttpReply, HttpTransport, TransportError
from waypost_testing.stories.record import PostedStatus, ProviderError, ProviderRequest, SimulationRecord

FRONT = "waypost"
"""The host name behind which a balancer picks one of the servers."""


_REFUSED = b'"status":503'
"""In the answer of a server; a balancer's own answer has none."""


class RecordingTransport:
    """A server's transport; records each request to the provider, and whether its acceptance came back."""

    def __init__(self, transport: HttpTransport, record: SimulationRecord, server: str, life: int) -> None:
        self._transport = transport
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
    ) -> HttpReply:
        if method != "POST":  # a list of templates
            return await self._transport.request(method, url, headers=headers, body=body, timeout=timeout, limit=limit)
        call = msgspec.json.decode(body)
        if "to" not in call:  # a read receipt
            return await self._transport.request(method, url, headers=headers, body=body, timeout=timeout, limit=limit)
        sent = self._noted(url, call)
        try:
            reply = await self._transport.request(method, url, headers=headers, body=body, timeout=timeout, limit=limit)
        except ConnectFailed:
            sent.unreached = True
            raise
        sent.answered = self._record.now()
        if reply.status == 200:
            sent.wamid = msgspec.json.decode(reply.body)["messages"][0]["id"]
        else:
            sent.refused = _refusal(reply)
        return reply

    def _noted(self, url: str, call: dict[str, Any]) -> ProviderRequest:
        sent = ProviderRequest(
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
    """What the phone shows of the message: the text itself, or a template's first parameter."""
    if call["type"] == "template":
        return str(call["template"]["components"][0]["parameters"][0]["text"])
    return str(call["text"]["body"])


def _refusal(reply: HttpReply) -> ProviderError | None:
    """A gateway's page is not the provider's answer: whether the provider accepted the message is unknown."""
    try:
        code = msgspec.json.decode(reply.body)["error"]["code"]
    except (msgspec.DecodeError, KeyError, TypeError):
        return None
    asked = reply.headers.get("retry-after")
    return ProviderError(int(code), float(asked) if asked else None)


class BalancedTransport:
    """The provider's transport: a request to the front goes to any server; the outcome of each webhook is recorded."""

    def __init__(
        self, transport: HttpTransport, record: SimulationRecord, servers: Sequence[str], rng: random.Random
    ) -> None:
        self._transport = transport
        self._record = record
        self._servers = servers
        self._rng = rng

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
        target = url.replace(f"//{FRONT}/", f"//{self._rng.choice(self._servers)}/", 1)
        asked = self._record.now()
        try:
            reply = await self._transport.request(
                method, target, headers=headers, body=body, timeout=timeout, limit=limit
            )
        except TransportError:
            self._note(body, asked, None)
            raise
        self._note(body, asked, reply)
        return reply

    def _note(self, body: bytes, asked: int, reply: HttpReply | None) -> None:
        ok = reply is not None and reply.status == 200
        refused = reply is not None and _REFUSED in reply.body
        value = msgspec.json.decode(body)["entry"][0]["changes"][0]["value"]
        for status in value.get("statuses", ()):
            echo = "biz_opaque_callback_data" in status
            posted = PostedStatus(asked, self._record.now(), status["id"], status["status"], echo, ok, refused)
            self._record.posted.setdefault(posted.wamid, []).append(posted)
        for message in value.get("messages", ()):
            pair = (value["metadata"]["phone_number_id"], f"+{message['from']}")
            self._record.written.setdefault(pair, []).append(int(message["timestamp"]) * 1_000_000)
            self._record.inbound[message["id"]] = self._record.inbound.get(message["id"], False) or ok
            self._record.words[message["id"]] = (message["text"]["body"], int(message["timestamp"]))

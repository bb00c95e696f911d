"""Posting webhooks as Meta does: signed, escaped, and again and again until they are answered 200."""

from __future__ import annotations

import hmac
import json
from typing import Any
from urllib.parse import urlencode

import msgspec

from waypost.model.time import Span
from waypost.ports.clock import Clock
from waypost.ports.wire import Wire, WireError
from waypost.sandbox.numbers import SandboxNumber
from waypost.sandbox.settings import Timing
from waypost.sandbox.tasks import Tasks


def webhook_body(number: SandboxNumber, content: dict[str, Any]) -> bytes:
    """One change of the field `messages`, in the envelope that Meta puts around it."""
    metadata = {"display_phone_number": number.display_phone_number, "phone_number_id": number.phone_number_id}
    value = {"messaging_product": "whatsapp", "metadata": metadata, **content}
    entry = {"id": number.waba_id, "changes": [{"value": value, "field": "messages"}]}
    return escaped({"object": "whatsapp_business_account", "entry": [entry]})


def escaped(value: object) -> bytes:
    """JSON as Meta writes it, so that a receiver who signs his own rendering of it fails here too."""
    body = msgspec.json.encode(value)
    if not body.isascii():
        body = json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()
    return body.replace(b"/", b"\\/")


def signature(secret: str, body: bytes) -> str:
    return "sha256=" + hmac.digest(secret.encode(), body, "sha256").hex()


class Webhooks:
    def __init__(self, clock: Clock, wire: Wire, tasks: Tasks, timing: Timing) -> None:
        self._clock = clock
        self._wire = wire
        self._tasks = tasks
        self._timing = timing

    async def post(self, number: SandboxNumber, body: bytes) -> bool:
        """Returns after the first try; what it did not achieve goes on in the background."""
        answered = await self.tried(number, body)
        if not answered:
            self._tasks.start(self.insist(number, body))
        return answered

    async def post_in_order(self, number: SandboxNumber, waiting: list[bytes], body: bytes) -> None:
        """As `post`, but never before everything that is already `waiting` was answered or given up."""
        waiting.append(body)
        if len(waiting) > 1:
            return
        answered = await self.tried(number, body)
        if answered:
            waiting.pop(0)
        if waiting:
            self._tasks.start(self._drain(number, waiting, tried=not answered))

    async def _drain(self, number: SandboxNumber, waiting: list[bytes], tried: bool) -> None:
        while waiting:
            if tried or not await self.tried(number, waiting[0]):
                await self.insist(number, waiting[0])
            tried = False
            waiting.pop(0)

    async def insist(self, number: SandboxNumber, body: bytes) -> None:
        """Try again, ever more rarely, what failed just now, until it is answered or the time is over."""
        gives_up = self._clock.now() + self._timing.retry_for
        pause = self._timing.retry_first
        while self._clock.now() + pause <= gives_up:
            await self._clock.sleep(pause)
            if await self.tried(number, body):
                return
            pause = Span(min(pause * 2, self._timing.retry_most))

    async def tried(self, number: SandboxNumber, body: bytes) -> bool:
        """One try; a number without a webhook counts as answered."""
        if number.webhook_url is None:
            return True
        headers = {
            "content-type": "application/json",
            "user-agent": "facebookexternalua",
            "x-hub-signature-256": signature(number.app_secret, body),
        }
        timeout = self._timing.webhook_timeout
        try:
            reply = await self._wire.request("POST", number.webhook_url, headers=headers, body=body, timeout=timeout)
        except WireError:
            return False
        return reply.status == 200

    async def verified(self, number: SandboxNumber, challenge: str) -> bool:
        """The handshake that Meta makes when a callback address is entered."""
        if number.webhook_url is None:
            return False
        asked = {"hub.mode": "subscribe", "hub.challenge": challenge, "hub.verify_token": number.verify_token}
        url = f"{number.webhook_url}{'&' if '?' in number.webhook_url else '?'}{urlencode(asked)}"
        try:
            reply = await self._wire.request("GET", url, headers={}, timeout=self._timing.webhook_timeout)
        except WireError:
            return False
        return reply.status == 200 and reply.body == challenge.encode()

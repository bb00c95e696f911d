"""Posts webhooks as Meta does: signed, escaped, and retried until they are answered with 200."""

from __future__ import annotations

import hmac
import json
from typing import Any
from urllib.parse import urlencode

import msgspec

from waypost.model.time import Span
from waypost.ports.platform.clock import Clock
from waypost.ports.platform.http_transport import HttpTransport, TransportError
from waypost.sandbox.settings import SandboxTiming
from waypost.sandbox.store.numbers import SandboxNumber
from waypost.sandbox.tasks import Tasks


def webhook_body(number: SandboxNumber, content: dict[str, Any]) -> bytes:
    """A `messages` change in Meta's envelope."""
    metadata = {"display_phone_number": number.display_phone_number, "phone_number_id": number.phone_number_id}
    value = {"messaging_product": "whatsapp", "metadata": metadata, **content}
    entry = {"id": number.waba_id, "changes": [{"value": value, "field": "messages"}]}
    return escaped({"object": "whatsapp_business_account", "entry": [entry]})


def escaped(value: object) -> bytes:
    """JSON as Meta writes it, so that receivers that sign their own rendering of it fail here too."""
    body = msgspec.json.encode(value)
    if not body.isascii():
        body = json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()
    return body.replace(b"/", b"\\/")


def signature(secret: str, body: bytes) -> str:
    return "sha256=" + hmac.digest(secret.encode(), body, "sha256").hex()


class Webhooks:
    def __init__(self, clock: Clock, transport: HttpTransport, tasks: Tasks, timing: SandboxTiming) -> None:
        self._clock = clock
        self._transport = transport
        self._tasks = tasks
        self._timing = timing

    async def post(self, number: SandboxNumber, body: bytes) -> bool:
        """Returns whether the first attempt was answered; retries run in the background."""
        answered = await self.attempt(number, body)
        if not answered:
            self._tasks.start(self.retry(number, body))
        return answered

    async def post_in_order(self, number: SandboxNumber, waiting: list[bytes], body: bytes) -> None:
        """As `post`, but only after all webhooks in `waiting` were answered or given up."""
        waiting.append(body)
        if len(waiting) > 1:
            return
        answered = await self.attempt(number, body)
        if answered:
            waiting.pop(0)
        if waiting:
            self._tasks.start(self._drain(number, waiting, attempted=not answered))

    async def _drain(self, number: SandboxNumber, waiting: list[bytes], attempted: bool) -> None:
        while waiting:
            if attempted or not await self.attempt(number, waiting[0]):
                await self.retry(number, waiting[0])
            attempted = False
            waiting.pop(0)

    async def retry(self, number: SandboxNumber, body: bytes) -> None:
        """Retries a failed webhook with growing pauses, until it is answered or `retry_for` is over."""
        deadline = self._clock.now() + self._timing.retry_for
        pause = self._timing.retry_first
        while self._clock.now() + pause <= deadline:
            await self._clock.sleep(pause)
            if await self.attempt(number, body):
                return
            pause = Span(min(pause * 2, self._timing.retry_most))

    async def attempt(self, number: SandboxNumber, body: bytes) -> bool:
        """One attempt; a number without a webhook URL counts as answered."""
        if number.webhook_url is None:
            return True
        headers = {
            "content-type": "application/json",
            "user-agent": "facebookexternalua",
            "x-hub-signature-256": signature(number.app_secret, body),
        }
        timeout = self._timing.webhook_timeout
        try:
            reply = await self._transport.request(
                "POST", number.webhook_url, headers=headers, body=body, timeout=timeout
            )
        except TransportError:
            return False
        return reply.status == 200

    async def verified(self, number: SandboxNumber, challenge: str) -> bool:
        """Meta's handshake when a callback URL is configured."""
        if number.webhook_url is None:
            return False
        asked = {"hub.mode": "subscribe", "hub.challenge": challenge, "hub.verify_token": number.verify_token}
        url = f"{number.webhook_url}{'&' if '?' in number.webhook_url else '?'}{urlencode(asked)}"
        try:
            reply = await self._transport.request("GET", url, headers={}, timeout=self._timing.webhook_timeout)
        except TransportError:
            return False
        return reply.status == 200 and reply.body == challenge.encode()

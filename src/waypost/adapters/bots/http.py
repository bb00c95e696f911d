"""The user's own service: a signed POST of the turn, and what its answer means."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import msgspec

from waypost.model.turn import Answer, Handover, Turn
from waypost.ports.bot import BotFailed
from waypost.ports.wire import Reply, Wire, WireError
from waypost.rules.redact import redact, without
from waypost.rules.retry_after import seconds_told

LARGEST_ANSWER = 1024 * 1024
"""Bytes; ten long texts are a twentieth of it."""
_COME_AGAIN = frozenset({408, 425, 429})
_SHOWN = 200
"""Characters of a refusal that an operator is shown."""
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class HttpBot:
    thinks = True

    def __init__(self, wire: Wire, url: str, secret: str, *, timeout: float, history: int) -> None:
        self._wire = wire
        self._url = url
        self._secret = secret
        self._timeout = timeout
        self.history = history

    async def answer(self, turn: Turn) -> Answer:
        body = msgspec.json.encode(turn)
        headers = {
            "Content-Type": "application/json",
            "X-Waypost-Signature-256": signature(self._secret, body),
            "Idempotency-Key": turn.id,
            "X-Waypost-Attempt": str(turn.attempt),
        }
        try:
            reply = await self._wire.request("POST", self._url, headers=headers, body=body, timeout=self._timeout)
        except WireError as error:
            raise BotFailed(f"the bot's service: {error}") from error
        return understood(reply, self._secret)

    async def close(self) -> None:
        """The wire is not ours to close."""


def signature(secret: str, body: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def understood(reply: Reply, secret: str) -> Answer:
    if len(reply.body) > LARGEST_ANSWER:
        size = len(reply.body)
        raise BotFailed(f"the bot's answer has {size} bytes, at most {LARGEST_ANSWER} are allowed", hopeless=True)
    if reply.status == 204:
        return None
    if reply.status != 200:
        raise _refusal(reply, secret)
    try:
        told = msgspec.json.decode(reply.body)
    except _UNREADABLE:
        raise BotFailed("the bot's answer is not JSON") from None
    if not isinstance(told, dict):
        raise BotFailed("the bot's answer must be a JSON object")
    return _answer(told)


def _answer(told: dict[str, Any]) -> Answer:
    match told.get("replies"), told.get("handover"):
        case (None, None) if not told or told.keys() & {"replies", "handover"}:
            return None
        case (None, None):
            raise BotFailed("the bot's answer has neither `replies` nor `handover`", hopeless=True)
        case (None, str() as reason):
            return Handover(reason)
        case (list() as replies, None):
            return replies
        case _:
            raise BotFailed("the bot's answer must have a list of `replies` or a text as `handover`", hopeless=True)


def _refusal(reply: Reply, secret: str) -> BotFailed:
    words = redact(without(secret, reply.body.decode("utf-8", "replace")))[:_SHOWN]
    may_change = reply.status in _COME_AGAIN or reply.status >= 500
    return BotFailed(
        f"the bot's service answered HTTP {reply.status}" + (f": {' '.join(words.split())}" if words.strip() else ""),
        hopeless=not may_change,
        retry_after=seconds_told(reply.headers.get("retry-after")) if may_change else None,
    )

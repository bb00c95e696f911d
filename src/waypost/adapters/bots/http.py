"""A bot behind HTTP: a signed POST of the turn, and its answer."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import msgspec

from waypost.model.turn import Answer, Handover, Turn
from waypost.ports.conversations.bot import BotFailed
from waypost.ports.platform.http_transport import HttpReply, HttpTransport, TransportError
from waypost.rules.text.redact import redact, without
from waypost.rules.text.retry_after import retry_after_seconds

LARGEST_ANSWER = 1024 * 1024
"""Bytes; about twenty times ten long texts."""
_COME_AGAIN = frozenset({408, 425, 429})
_SHOWN = 200
"""Characters of an error response that an operator sees."""
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class HttpBot:
    thinks = True

    def __init__(self, transport: HttpTransport, url: str, secret: str, *, timeout: float, history: int) -> None:
        self._transport = transport
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
            reply = await self._transport.request("POST", self._url, headers=headers, body=body, timeout=self._timeout)
        except TransportError as error:
            raise BotFailed(f"the bot's service: {error}") from error
        return parse_reply(reply, self._secret)

    async def close(self) -> None:
        """The transport is shared; its owner closes it."""


def signature(secret: str, body: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def parse_reply(reply: HttpReply, secret: str) -> Answer:
    if len(reply.body) > LARGEST_ANSWER:
        size = len(reply.body)
        raise BotFailed(f"the bot's answer has {size} bytes, at most {LARGEST_ANSWER} are allowed", hopeless=True)
    if reply.status == 204:
        return None
    if reply.status != 200:
        raise _refusal(reply, secret)
    try:
        content = msgspec.json.decode(reply.body)
    except _UNREADABLE:
        raise BotFailed("the bot's answer is not JSON") from None
    if not isinstance(content, dict):
        raise BotFailed("the bot's answer must be a JSON object")
    return _answer(content)


def _answer(content: dict[str, Any]) -> Answer:
    match content.get("replies"), content.get("handover"):
        case (None, None) if not content or content.keys() & {"replies", "handover"}:
            return None
        case (None, None):
            raise BotFailed("the bot's answer has neither `replies` nor `handover`", hopeless=True)
        case (None, str() as reason):
            return Handover(reason)
        case (list() as replies, None):
            return replies
        case _:
            raise BotFailed("the bot's answer must have a list of `replies` or a text as `handover`", hopeless=True)


def _refusal(reply: HttpReply, secret: str) -> BotFailed:
    words = redact(without(secret, reply.body.decode("utf-8", "replace")))[:_SHOWN]
    may_change = reply.status in _COME_AGAIN or reply.status >= 500
    return BotFailed(
        f"the bot's service answered HTTP {reply.status}" + (f": {' '.join(words.split())}" if words.strip() else ""),
        hopeless=not may_change,
        retry_after=retry_after_seconds(reply.headers.get("retry-after")) if may_change else None,
    )

"""Records every call to the messages endpoint, including refused ones."""

from __future__ import annotations

from typing import Any

import msgspec

from waypost.model.time import Instant
from waypost.sandbox.content.recipients import phone_of
from waypost.sandbox.edge.asgi import iso
from waypost.sandbox.store.keyed_log import KeyedLog


class RecordedCall(msgspec.Struct):
    at: Instant
    phone_number_id: str
    to: str | None
    """As the caller wrote it."""
    body: msgspec.Raw
    wamid: str | None = None
    http_status: int | None = None
    """None until the call is answered."""


class Calls:
    def __init__(self, most_bytes: int) -> None:
        self._log: KeyedLog[RecordedCall] = KeyedLog(most_bytes)

    def record(self, at: Instant, phone_number_id: str, raw: bytes, body: dict[str, Any] | None) -> RecordedCall:
        to = (body.get("to") or body.get("recipient")) if body else None
        known = body is not None
        readable = msgspec.Raw(raw if known else msgspec.json.encode(raw.decode("utf-8", "replace")))
        call = RecordedCall(at, phone_number_id, to if isinstance(to, str) else None, readable)
        self._log.add(_key(call.to), call, len(raw))
        return call

    def listed(self, to: str | None = None) -> list[RecordedCall]:
        return list(self._log) if to is None else self._log.of(_key(to))

    @property
    def forgotten(self) -> int:
        """How many calls are no longer listed."""
        return self._log.dropped

    def __len__(self) -> int:
        return len(self._log)


def _key(to: str | None) -> str:
    return "" if to is None else phone_of(to) or to


def shown(call: RecordedCall) -> dict[str, Any]:
    return {
        "at": iso(call.at),
        "phone_number_id": call.phone_number_id,
        "to": call.to,
        "body": call.body,
        "wamid": call.wamid,
        "http_status": call.http_status,
    }

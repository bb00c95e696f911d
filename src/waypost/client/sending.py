"""What happens next to a message on its way out, and what an answer makes of it (B18 to B23), as decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from waypost.client.nouns import Refusal, Sent
from waypost.client.returning import NOT_AUTHENTICATED, Stop

TRIES_ON_SOCKET = 2
SOCKETS = 3
"""That may break under a send before it is thought to be what breaks them."""
_TRY_AGAIN = frozenset({408, 425, 429})


class BySocket(msgspec.Struct, frozen=True):
    pass


class ByRest(msgspec.Struct, frozen=True):
    drop_socket: bool = False
    """It was asked twice and did not answer: it is dead."""


class Wait(msgspec.Struct, frozen=True):
    ms: float


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Where a send is: the first of its conversation, without an answer."""

    socket: bool
    polling: bool
    tries: int
    waited: float
    """Since it was first due, or last tried."""
    not_before: float
    """What is left of a wait that the server asked for."""
    broke: int = 0
    """Sockets that broke with it under way."""


class Later(msgspec.Struct, frozen=True):
    at_least: float
    """Milliseconds; 0: the backoff alone decides."""


def next_move(at: Standing, ack_timeout: float) -> BySocket | ByRest | Wait:
    if at.not_before > 0:
        return Wait(at.not_before)
    if at.polling or at.broke >= SOCKETS:
        return ByRest()
    left = ack_timeout - at.waited
    if at.socket and at.tries == 0:
        return BySocket()
    if left > 0:
        return Wait(left)
    if at.socket and at.tries < TRIES_ON_SOCKET:
        return BySocket()
    return ByRest(drop_socket=at.socket)


def told_by_frame(frame: Mapping[str, Any]) -> Sent | Refusal | Later | None:
    """An `ack` or an `error` with a client_message_id; None: it is not about a send."""
    name = frame.get("client_message_id")
    if not isinstance(name, str):
        return None
    if frame.get("type") == "ack":
        return _sent(name, frame)
    if frame.get("retryable"):
        return Later(0)
    return Refusal(name, str(frame.get("code") or "refused"), str(frame.get("detail") or ""))


def told_by_rest(name: str, status: int, retry_after: str | None, body: object) -> Sent | Refusal | Later | Stop:
    if status in {200, 201} and isinstance(body, dict):
        return _sent(name, body) or Later(0)
    if status == 401:
        return Stop(NOT_AUTHENTICATED)
    if 400 <= status < 500 and status not in _TRY_AGAIN:
        told = body if isinstance(body, dict) else {}
        return Refusal(name, str(told.get("code") or f"http_{status}"), str(told.get("detail") or ""))
    return Later(seconds_of(retry_after) * 1000)


def seconds_of(retry_after: str | None) -> float:
    """0: nothing that can be read."""
    return float(retry_after) if retry_after is not None and retry_after.isdecimal() and len(retry_after) < 7 else 0.0


def _sent(name: str, answer: Mapping[str, Any]) -> Sent | None:
    message_id, position = answer.get("message_id"), answer.get("position")
    if not isinstance(message_id, str):
        return None
    return Sent(name, message_id, position if type(position) is int else None)

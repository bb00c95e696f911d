"""Decides the next move of an outgoing message and reads the server's answers (B18 to B23)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from waypost.client.reconnect import NOT_AUTHENTICATED, StopReconnecting
from waypost.client.types import SendRejected, SendStored

ATTEMPTS_ON_SOCKET = 2
SOCKETS = 3
"""After this many broken sockets, a message is suspected of breaking them and goes by REST."""
_RETRYABLE = frozenset({408, 425, 429})


class BySocket(msgspec.Struct, frozen=True):
    pass


class ByRest(msgspec.Struct, frozen=True):
    drop_socket: bool = False
    """Whether the socket is dead: it did not answer two attempts."""


class KeepWaiting(msgspec.Struct, frozen=True):
    ms: float


class SendProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an unanswered send that is the first of its conversation."""

    socket: bool
    polling: bool
    tries: int
    waited: float
    """Milliseconds since it was first due, or since the last attempt."""
    not_before: float
    """Milliseconds left of a wait that the server asked for."""
    broke: int = 0
    """How many sockets broke while it was in flight."""


class RetryLater(msgspec.Struct, frozen=True):
    at_least: float
    """Milliseconds; with 0 the backoff alone decides."""


def next_move(at: SendProgress, ack_timeout: float) -> BySocket | ByRest | KeepWaiting:
    if at.not_before > 0:
        return KeepWaiting(at.not_before)
    if at.polling or at.broke >= SOCKETS:
        return ByRest()
    left = ack_timeout - at.waited
    if at.socket and at.tries == 0:
        return BySocket()
    if left > 0:
        return KeepWaiting(left)
    if at.socket and at.tries < ATTEMPTS_ON_SOCKET:
        return BySocket()
    return ByRest(drop_socket=at.socket)


def result_from_frame(frame: Mapping[str, Any]) -> SendStored | SendRejected | RetryLater | None:
    """The result in an `ack` or `error` frame; None if it is not about a send."""
    name = frame.get("client_message_id")
    if not isinstance(name, str):
        return None
    if frame.get("type") == "ack":
        return _stored(name, frame)
    if frame.get("retryable"):
        return RetryLater(0)
    return SendRejected(name, str(frame.get("code") or "refused"), str(frame.get("detail") or ""))


def result_from_response(
    name: str, status: int, retry_after: str | None, body: object
) -> SendStored | SendRejected | RetryLater | StopReconnecting:
    if status in {200, 201} and isinstance(body, dict):
        return _stored(name, body) or RetryLater(0)
    if status == 401:
        return StopReconnecting(NOT_AUTHENTICATED)
    if 400 <= status < 500 and status not in _RETRYABLE:
        problem = body if isinstance(body, dict) else {}
        return SendRejected(name, str(problem.get("code") or f"http_{status}"), str(problem.get("detail") or ""))
    return RetryLater(seconds_of(retry_after) * 1000)


def seconds_of(retry_after: str | None) -> float:
    """0 if the header is missing or unreadable."""
    return float(retry_after) if retry_after is not None and retry_after.isdecimal() and len(retry_after) < 7 else 0.0


def _stored(name: str, answer: Mapping[str, Any]) -> SendStored | None:
    message_id, position = answer.get("message_id"), answer.get("position")
    if not isinstance(message_id, str):
        return None
    return SendStored(name, message_id, position if type(position) is int else None)

"""Sending by the Cloud API: one POST, and what its answer means."""

from __future__ import annotations

from typing import Any

import msgspec

from waypost.model.ids import Wamid
from waypost.model.outcome import Accepted, Outcome, Rejected, Unreached, Unsure
from waypost.ports.provider import Sender
from waypost.ports.wire import Refused, Reply, Wire, WireError

_KEPT = 4_000
"""Characters of an answer that are kept with the attempt."""


class _MessageRef(msgspec.Struct):
    id: str


class _Success(msgspec.Struct):
    messages: list[_MessageRef]


class _GraphError(msgspec.Struct):
    code: int
    message: str = ""
    error_subcode: int | None = None
    fbtrace_id: str | None = None
    error_data: Any = None


class _Failure(msgspec.Struct):
    error: _GraphError


_success = msgspec.json.Decoder(_Success)
_failure = msgspec.json.Decoder(_Failure)


class CloudApi:
    def __init__(self, wire: Wire, timeout: float) -> None:
        self._wire = wire
        self._timeout = timeout

    async def send(self, sender: Sender, body: bytes) -> Outcome:
        headers = {"authorization": f"Bearer {sender.token}", "content-type": "application/json"}
        url = f"{sender.graph_url}/{sender.number}/messages"
        try:
            reply = await self._wire.request("POST", url, headers=headers, body=body, timeout=self._timeout)
        except Refused as error:
            return Unreached(str(error))
        except WireError as error:
            return Unsure(str(error))
        return understood(reply, sender.token)


def understood(reply: Reply, token: str) -> Outcome:
    """A body of the Graph API is an answer, whatever its HTTP status; anything else tells nothing."""
    text = cleaned(reply.body.decode("utf-8", "replace"), token)
    if reply.status == 200:
        try:
            return Accepted(Wamid(_success.decode(reply.body).messages[0].id), text)
        except (msgspec.MsgspecError, UnicodeDecodeError, IndexError):
            return Unsure("HTTP 200 without a message id", text)
    try:
        error = _failure.decode(reply.body).error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Unsure(f"HTTP {reply.status} without an error of the Graph API", text)
    return Rejected(
        code=str(error.code),
        message=cleaned(error.message, token) or f"error {error.code}",
        details=_details(error, token),
        trace=error.fbtrace_id,
        retry_after=_seconds(reply.headers.get("retry-after")),
        response=text,
    )


def cleaned(text: str, token: str) -> str:
    """What may be stored and shown: never the token, never endless."""
    return text.replace(token, "[token]")[:_KEPT] if token else text[:_KEPT]


def _details(error: _GraphError, token: str) -> str | None:
    """`error_data` is an object with `details`, or now and then a plain string."""
    data = error.error_data
    details = data.get("details") if isinstance(data, dict) else data
    return cleaned(str(details), token) if details else None


def _seconds(value: str | None) -> float | None:
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None

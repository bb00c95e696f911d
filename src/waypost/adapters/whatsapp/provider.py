"""Sending by the Cloud API: one POST, and what its answer means."""

from __future__ import annotations

from typing import Any

import msgspec

from waypost.model.ids import Wamid
from waypost.model.outcome import Accepted, Outcome, Rejected, Unreached, Unsure
from waypost.ports.provider import Sender
from waypost.ports.wire import Refused, Reply, Wire, WireError
from waypost.rules.redact import redact, redact_answer, without
from waypost.rules.retry_after import seconds_told

_KEPT = 4_000
"""Characters of an answer that are kept with the attempt."""

_LONGEST_ID = 255


class _MessageRef(msgspec.Struct, omit_defaults=True):
    id: str
    message_status: str | None = None


class _Success(msgspec.Struct):
    """All that is kept of it: the rest repeats the customer's number."""

    messages: list[_MessageRef]


class _GraphError(msgspec.Struct):
    """Only the code must be there: it alone decides, the rest is for the reader."""

    code: int
    message: Any = ""
    error_subcode: Any = None
    fbtrace_id: Any = None
    error_data: Any = None


class _Failure(msgspec.Struct):
    error: _GraphError


_success = msgspec.json.Decoder(_Success)
_failure = msgspec.json.Decoder(_Failure)
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


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
    accepted = _accepted(reply.body) if reply.status == 200 else None
    if accepted is not None:
        return accepted
    text = cleaned_answer(reply.body.decode("utf-8", "replace"), token)
    if reply.status == 200:
        return Unsure("HTTP 200 without a message id", text)
    try:
        error = _failure.decode(reply.body).error
    except _UNREADABLE:
        return Unsure(f"HTTP {reply.status} without an error of the Graph API", text)
    return Rejected(
        code=str(error.code),
        message=cleaned(str(error.message or ""), token) or f"error {error.code}",
        subcode=error.error_subcode if isinstance(error.error_subcode, int) else None,
        details=_details(error, token),
        trace=None if error.fbtrace_id is None else cleaned(str(error.fbtrace_id), token),
        retry_after=_retry_after(reply, error),
        response=text,
    )


def _accepted(body: bytes) -> Accepted | None:
    """With the id that the provider gave, if it is one that can be kept and found again."""
    try:
        success = _success.decode(body)
        given = success.messages[0].id
    except (*_UNREADABLE, IndexError):
        return None
    if not 0 < len(given) <= _LONGEST_ID or not given.isprintable():
        return None
    return Accepted(Wamid(given), msgspec.json.encode(success)[:_KEPT].decode("utf-8", "replace"))


def cleaned(text: str, token: str) -> str:
    """What may be stored and shown: no secret, no number, no link, never endless, nothing a database cannot hold."""
    return redact(without(token, text))[:_KEPT]


def cleaned_answer(text: str, token: str) -> str:
    """The same for a whole body; ids of messages stay in it."""
    return redact_answer(without(token, text))[:_KEPT]


def _details(error: _GraphError, token: str) -> str | None:
    """`error_data` is an object with `details`, or now and then a plain string."""
    data = error.error_data
    details = data.get("details") if isinstance(data, dict) else data
    return cleaned(str(details), token) if details else None


def _retry_after(reply: Reply, error: _GraphError) -> float | None:
    """From the header, else from the error's data; Meta documents neither, but who sends one means it."""
    data = error.error_data
    told = reply.headers.get("retry-after") or (data.get("retry_after") if isinstance(data, dict) else None)
    return None if told is None else seconds_told(str(told))

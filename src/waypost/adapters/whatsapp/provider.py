"""Sending through the Cloud API: one POST, and the interpretation of its answer."""

from __future__ import annotations

from typing import Any

import msgspec

from waypost.model.ids import Wamid
from waypost.model.outcome import Accepted, Outcome, ProviderRejected, Unreached, Unsure
from waypost.ports.platform.http_transport import ConnectFailed, HttpReply, HttpTransport, TransportError
from waypost.ports.sending.provider import Sender
from waypost.rules.text.redact import redact, redact_answer, without
from waypost.rules.text.retry_after import retry_after_seconds

_KEPT = 4_000
"""Characters of an answer that are stored with the attempt."""

_LONGEST_ID = 255


class _MessageRef(msgspec.Struct, omit_defaults=True):
    id: str
    message_status: str | None = None


class _Success(msgspec.Struct):
    """The stored part of the answer: the rest repeats the customer's number."""

    messages: list[_MessageRef]


class _GraphError(msgspec.Struct):
    """Only the code is required: it alone decides, the rest is informative."""

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
    def __init__(self, transport: HttpTransport, timeout: float) -> None:
        self._transport = transport
        self._timeout = timeout

    async def send(self, sender: Sender, body: bytes) -> Outcome:
        headers = {"authorization": f"Bearer {sender.token}", "content-type": "application/json"}
        url = f"{sender.graph_url}/{sender.number}/messages"
        try:
            reply = await self._transport.request("POST", url, headers=headers, body=body, timeout=self._timeout)
        except ConnectFailed as error:
            return Unreached(str(error))
        except TransportError as error:
            return Unsure(str(error))
        return send_outcome(reply, sender.token)


def send_outcome(reply: HttpReply, token: str) -> Outcome:
    """A Graph API body is an answer, whatever its HTTP status; after anything else the outcome is unsure."""
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
    return ProviderRejected(
        code=str(error.code),
        message=cleaned(str(error.message or ""), token) or f"error {error.code}",
        subcode=error.error_subcode if isinstance(error.error_subcode, int) else None,
        details=_details(error, token),
        trace=None if error.fbtrace_id is None else cleaned(str(error.fbtrace_id), token),
        retry_after=_retry_after(reply, error),
        response=text,
    )


def _accepted(body: bytes) -> Accepted | None:
    """With the provider's message id, if it can be stored and found again."""
    try:
        success = _success.decode(body)
        given = success.messages[0].id
    except (*_UNREADABLE, IndexError):
        return None
    if not 0 < len(given) <= _LONGEST_ID or not given.isprintable():
        return None
    return Accepted(Wamid(given), msgspec.json.encode(success)[:_KEPT].decode("utf-8", "replace"))


def cleaned(text: str, token: str) -> str:
    """Text that may be stored and shown: no secrets, numbers or links, limited length, storable characters."""
    return redact(without(token, text))[:_KEPT]


def cleaned_answer(text: str, token: str) -> str:
    """The same for a whole body; message ids stay."""
    return redact_answer(without(token, text))[:_KEPT]


def _details(error: _GraphError, token: str) -> str | None:
    """`error_data` is an object with `details`, or now and then a plain string."""
    data = error.error_data
    details = data.get("details") if isinstance(data, dict) else data
    return cleaned(str(details), token) if details else None


def _retry_after(reply: HttpReply, error: _GraphError) -> float | None:
    """From the header, else from the error's data; Meta documents neither, but both are honoured."""
    data = error.error_data
    value = reply.headers.get("retry-after") or (data.get("retry_after") if isinstance(data, dict) else None)
    return None if value is None else retry_after_seconds(str(value))

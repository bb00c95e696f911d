"""Read receipts, typing indicators and uploads through the Cloud API."""

from __future__ import annotations

from typing import Any

import msgspec

from waypost.adapters.whatsapp.number_record import number_record
from waypost.adapters.whatsapp.provider import cleaned_answer, send_outcome
from waypost.model.outcome import LookedUp, ProviderRejected, Unreached, Unsure
from waypost.ports.platform.http_transport import ConnectFailed, HttpReply, HttpTransport, TransportError
from waypost.ports.sending.provider import Sender
from waypost.ports.sending.provider_extras import MultipartForm, ProviderCallDone, ProviderCallResult

UPLOAD_WITHIN = 120.0
"""Seconds; enough for a hundred megabytes."""
LOOK_WITHIN = 5.0
"""Seconds for each of two requests, because a user waits for the result."""
_LONGEST_ID = 255


class _Success(msgspec.Struct):
    success: bool = False
    id: str | None = None


class CloudExtras:
    def __init__(self, transport: HttpTransport, timeout: float) -> None:
        self._transport = transport
        self._timeout = timeout

    async def mark_read(self, sender: Sender, message_id: str, *, typing: bool) -> ProviderCallResult:
        body: dict[str, Any] = {"messaging_product": "whatsapp", "status": "read", "message_id": message_id}
        if typing:
            body["typing_indicator"] = {"type": "text"}
        content = msgspec.json.encode(body)
        return await self._post(sender, "messages", "application/json", content, self._timeout)

    async def upload(self, sender: Sender, form: MultipartForm) -> ProviderCallResult:
        kind = f"multipart/form-data; boundary={form.boundary}"
        outcome = await self._post(sender, "media", kind, form.body, max(self._timeout, UPLOAD_WITHIN))
        if isinstance(outcome, ProviderCallDone) and not outcome.id:
            return Unsure("the provider named no id")
        return outcome

    async def look_up(self, sender: Sender) -> LookedUp:
        return await number_record(self._transport, sender, min(self._timeout, LOOK_WITHIN))

    async def _post(self, sender: Sender, edge: str, kind: str, body: bytes, timeout: float) -> ProviderCallResult:
        headers = {"authorization": f"Bearer {sender.token}", "content-type": kind}
        url = f"{sender.graph_url}/{sender.number}/{edge}"
        try:
            reply = await self._transport.request("POST", url, headers=headers, body=body, timeout=timeout)
        except ConnectFailed as error:
            return Unreached(str(error))
        except TransportError as error:
            return Unsure(str(error))
        return _answered(reply, sender.token)


def _answered(reply: HttpReply, token: str) -> ProviderCallResult:
    if reply.status != 200:
        outcome = send_outcome(reply, token)
        return outcome if isinstance(outcome, ProviderRejected | Unsure) else Unsure(f"HTTP {reply.status}")
    try:
        success = msgspec.json.decode(reply.body, type=_Success)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        success = _Success()
    named = success.id is not None and 0 < len(success.id) <= _LONGEST_ID and success.id.isprintable()
    if success.success or named:
        return ProviderCallDone(success.id if named else None)
    return Unsure("HTTP 200 without an answer", cleaned_answer(reply.body.decode("utf-8", "replace"), token))

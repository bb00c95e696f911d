"""Read receipts, typing indicators and uploads by the Cloud API."""

from __future__ import annotations

from typing import Any

import msgspec

from waypost.adapters.whatsapp.number_record import number_record
from waypost.adapters.whatsapp.provider import cleaned_answer, understood
from waypost.model.outcome import LookedUp, Rejected, Unreached, Unsure
from waypost.ports.extras import Answered, Done, Form
from waypost.ports.provider import Sender
from waypost.ports.wire import Refused, Reply, Wire, WireError

UPLOAD_WITHIN = 120.0
"""Seconds: a hundred megabytes take their time."""
LOOK_WITHIN = 5.0
"""Seconds for each of two questions: somebody waits for the answer."""
_LONGEST_ID = 255


class _Success(msgspec.Struct):
    success: bool = False
    id: str | None = None


class CloudExtras:
    def __init__(self, wire: Wire, timeout: float) -> None:
        self._wire = wire
        self._timeout = timeout

    async def mark_read(self, sender: Sender, message_id: str, *, typing: bool) -> Answered:
        body: dict[str, Any] = {"messaging_product": "whatsapp", "status": "read", "message_id": message_id}
        if typing:
            body["typing_indicator"] = {"type": "text"}
        content = msgspec.json.encode(body)
        return await self._post(sender, "messages", "application/json", content, self._timeout)

    async def upload(self, sender: Sender, form: Form) -> Answered:
        kind = f"multipart/form-data; boundary={form.boundary}"
        told = await self._post(sender, "media", kind, form.body, max(self._timeout, UPLOAD_WITHIN))
        if isinstance(told, Done) and not told.id:
            return Unsure("the provider named no id")
        return told

    async def look_up(self, sender: Sender) -> LookedUp:
        return await number_record(self._wire, sender, min(self._timeout, LOOK_WITHIN))

    async def _post(self, sender: Sender, edge: str, kind: str, body: bytes, timeout: float) -> Answered:
        headers = {"authorization": f"Bearer {sender.token}", "content-type": kind}
        url = f"{sender.graph_url}/{sender.number}/{edge}"
        try:
            reply = await self._wire.request("POST", url, headers=headers, body=body, timeout=timeout)
        except Refused as error:
            return Unreached(str(error))
        except WireError as error:
            return Unsure(str(error))
        return _answered(reply, sender.token)


def _answered(reply: Reply, token: str) -> Answered:
    if reply.status != 200:
        told = understood(reply, token)
        return told if isinstance(told, Rejected | Unsure) else Unsure(f"HTTP {reply.status}")
    try:
        success = msgspec.json.decode(reply.body, type=_Success)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        success = _Success()
    named = success.id is not None and 0 < len(success.id) <= _LONGEST_ID and success.id.isprintable()
    if success.success or named:
        return Done(success.id if named else None)
    return Unsure("HTTP 200 without an answer", cleaned_answer(reply.body.decode("utf-8", "replace"), token))

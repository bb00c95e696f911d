"""A number's own record by the Cloud API: the one question that shows whether number and token fit."""

from __future__ import annotations

from typing import Any

import msgspec

from waypost.adapters.whatsapp.provider import cleaned_answer, understood
from waypost.model.outcome import LookedUp, NumberRecord, Rejected, Unreached, Unsure
from waypost.ports.provider import Sender
from waypost.ports.wire import Refused, Reply, Wire, WireError
from waypost.rules.redact import without

_FIELDS = (
    "display_phone_number",
    "verified_name",
    "quality_rating",
    "status",
    "webhook_configuration",
    "whatsapp_business_manager_messaging_limit",
)
_INVALID, _NO_SUCH_OBJECT = "100", 33
_LARGEST_ANSWER = 64 * 1024
_LONGEST = 255


class _Record(msgspec.Struct):
    """Whatever is there may be of any type. What has no phone number is something else under this id."""

    id: Any
    display_phone_number: Any = None
    verified_name: Any = None
    quality_rating: Any = None
    status: Any = None
    webhook_configuration: Any = None
    whatsapp_business_manager_messaging_limit: Any = None


_record = msgspec.json.Decoder(_Record)


async def number_record(wire: Wire, sender: Sender, timeout: float) -> LookedUp:
    """An older API refuses a field that it does not have; then what it gives by itself is enough."""
    url = f"{sender.graph_url}/{sender.number}"
    found = await _get(wire, f"{url}?fields={','.join(_FIELDS)}", sender, timeout)
    if isinstance(found, Rejected) and found.code == _INVALID and found.subcode != _NO_SUCH_OBJECT:
        return await _get(wire, url, sender, timeout)
    return found


async def _get(wire: Wire, url: str, sender: Sender, timeout: float) -> LookedUp:
    headers = {"authorization": f"Bearer {sender.token}"}
    try:
        reply = await wire.request("GET", url, headers=headers, timeout=timeout, limit=_LARGEST_ANSWER)
    except Refused as error:
        return Unreached(str(error))
    except WireError as error:
        return Unsure(str(error))
    return _read(reply, sender)


def _read(reply: Reply, sender: Sender) -> LookedUp:
    token = sender.token
    text = cleaned_answer(reply.body.decode("utf-8", "replace"), token)
    if reply.status != 200:
        told = understood(reply, token)
        return told if isinstance(told, Rejected | Unsure) else Unsure(f"HTTP {reply.status}", text)
    try:
        record = _record.decode(reply.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Unsure("HTTP 200 without a record", text)
    if record.id != sender.number:
        return Unsure("HTTP 200 with the record of something else", text)
    webhook = record.webhook_configuration
    return NumberRecord(
        display_phone_number=_text(record.display_phone_number, token),
        verified_name=_text(record.verified_name, token),
        quality=_text(record.quality_rating, token),
        messaging_limit=_text(record.whatsapp_business_manager_messaging_limit, token),
        status=_text(record.status, token),
        webhook_url=_text(_posted_to(webhook) if isinstance(webhook, dict) else None, token),
    )


def _posted_to(webhook: dict[str, Any]) -> Any:
    """The nearest to the number counts."""
    return webhook.get("phone_number") or webhook.get("whatsapp_business_account") or webhook.get("application")


def _text(value: Any, token: str) -> str | None:
    """None for what is no text, or not one that can be shown."""
    if not isinstance(value, str):
        return None
    shown = "".join(letter for letter in without(token, value)[:_LONGEST] if letter.isprintable())
    return shown or None

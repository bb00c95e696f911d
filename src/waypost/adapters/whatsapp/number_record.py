"""A number's record from the Cloud API: the request that shows whether number and token belong together."""

from __future__ import annotations

from typing import Any

import msgspec

from waypost.adapters.whatsapp.provider import cleaned_answer, send_outcome
from waypost.model.outcome import LookedUp, NumberRecord, ProviderRejected, Unreached, Unsure
from waypost.ports.platform.http_transport import ConnectFailed, HttpReply, HttpTransport, TransportError
from waypost.ports.sending.provider import Sender
from waypost.rules.text.redact import without

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
    """Fields may have any type. A record without a phone number is another object under this id."""

    id: Any
    display_phone_number: Any = None
    verified_name: Any = None
    quality_rating: Any = None
    status: Any = None
    webhook_configuration: Any = None
    whatsapp_business_manager_messaging_limit: Any = None


_record = msgspec.json.Decoder(_Record)


async def number_record(transport: HttpTransport, sender: Sender, timeout: float) -> LookedUp:
    """An older API refuses fields that it does not know; then its default fields are enough."""
    url = f"{sender.graph_url}/{sender.number}"
    found = await _get(transport, f"{url}?fields={','.join(_FIELDS)}", sender, timeout)
    if isinstance(found, ProviderRejected) and found.code == _INVALID and found.subcode != _NO_SUCH_OBJECT:
        return await _get(transport, url, sender, timeout)
    return found


async def _get(transport: HttpTransport, url: str, sender: Sender, timeout: float) -> LookedUp:
    headers = {"authorization": f"Bearer {sender.token}"}
    try:
        reply = await transport.request("GET", url, headers=headers, timeout=timeout, limit=_LARGEST_ANSWER)
    except ConnectFailed as error:
        return Unreached(str(error))
    except TransportError as error:
        return Unsure(str(error))
    return _read(reply, sender)


def _read(reply: HttpReply, sender: Sender) -> LookedUp:
    token = sender.token
    text = cleaned_answer(reply.body.decode("utf-8", "replace"), token)
    if reply.status != 200:
        outcome = send_outcome(reply, token)
        return outcome if isinstance(outcome, ProviderRejected | Unsure) else Unsure(f"HTTP {reply.status}", text)
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
    """The most specific setting applies."""
    return webhook.get("phone_number") or webhook.get("whatsapp_business_account") or webhook.get("application")


def _text(value: Any, token: str) -> str | None:
    """None unless the value is a text with printable characters."""
    if not isinstance(value, str):
        return None
    shown = "".join(character for character in without(token, value)[:_LONGEST] if character.isprintable())
    return shown or None

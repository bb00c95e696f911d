"""Checks of the caller's `payloadJson`, and its conversion to a Cloud API message."""

from __future__ import annotations

from typing import Any

import msgspec

from waypost.model.message import ClaimedMessage
from waypost.rules.content import content
from waypost.rules.content.recipient import is_user_id
from waypost.rules.sending.callback_data import LONGEST, stamp
from waypost.rules.text.json_validation import InvalidField

LARGEST_PAYLOAD = 64 * 1024
"""Bytes of JSON; the longest Cloud API message is a fraction of it."""
DEEPEST = 32
"""Nesting levels; no Cloud API message has half as many."""
OPAQUE = "biz_opaque_callback_data"
_TEXT, _SHORT = '{"type": "text", "text": {"body": "…"}}', '{"text": "…"}'
_OURS = ("messaging_product", "recipient_type", "to", "recipient")
_RECEIPT = ("status", "typing_indicator")
"""Fields that would make it a read receipt, which is not a message."""
_BESIDE = ("context", "recipient_identity_key_hash")
"""Fields sent beside the content, in the long and the short form."""


def check(payload: object, template: str | None) -> InvalidField | None:
    """The first error that prevents queueing."""
    if payload is None:
        return _check_template({}) if template else InvalidField("payloadJson", "is required without a templateCode")
    if not isinstance(payload, dict):
        return InvalidField("payloadJson", "must be an object")
    unbearable = _check_size(payload)
    if unbearable:
        return unbearable
    opaque = payload.get(OPAQUE, "")
    if not isinstance(opaque, str) or len(opaque) > LONGEST - 40:
        return InvalidField(f"payloadJson.{OPAQUE}", f"must be a text of at most {LONGEST - 40} characters")
    wrong = content.check_context(payload["context"], "payloadJson.context") if "context" in payload else None
    return wrong or (_check_template(payload) if template else _check_freeform(payload))


def _check_size(payload: dict[str, Any]) -> InvalidField | None:
    level: list[Any] = [payload]
    depth = 0
    while level := [inner for outer in level for inner in _inside(outer)]:
        depth += 1
        if depth == DEEPEST:
            return InvalidField("payloadJson", f"is nested more than {DEEPEST} levels deep")
    try:
        size = len(msgspec.json.encode(payload))
    except (UnicodeEncodeError, OverflowError):
        return InvalidField(
            "payloadJson", "has a value that JSON cannot represent: an unpaired surrogate or an infinite number"
        )
    if size > LARGEST_PAYLOAD:
        return InvalidField("payloadJson", f"has {size} bytes, at most {LARGEST_PAYLOAD} are allowed")
    return None


def _inside(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value
    return [one for one in inner if isinstance(one, dict | list)]


def _check_template(payload: dict[str, Any]) -> InvalidField | None:
    language = payload.get("language", "")
    code = language.get("code") if isinstance(language, dict) else language
    if not isinstance(code, str) or not code:
        return InvalidField("payloadJson.language", 'is required with a templateCode, e.g. "en_US"')
    components = payload.get("components", [])
    if not isinstance(components, list):
        return InvalidField("payloadJson.components", "must be a list")
    for index, component in enumerate(components):
        if not isinstance(component, dict):
            return InvalidField(f"payloadJson.components[{index}]", "must be an object")
    return None


def _check_freeform(payload: dict[str, Any]) -> InvalidField | None:
    kind = payload.get("type")
    for name in _RECEIPT:
        if name in payload:
            return InvalidField(f"payloadJson.{name}", "belongs to a read receipt, not to a message")
    if isinstance(payload.get("text"), str) and "type" not in payload:
        return content.check_text(payload["text"], "payloadJson.text")
    if not isinstance(kind, str) or not kind:
        return InvalidField("payloadJson.type", f"is required, e.g. {_TEXT}, or in short {_SHORT}")
    if kind not in payload:
        return InvalidField(f"payloadJson.{kind[:40]}", f'is required when "type" is "{kind[:40]}"')
    return content.check(kind, payload[kind], f"payloadJson.{kind}")


def cloud_api_body(message: ClaimedMessage) -> bytes:
    """The request body for the provider, stamped with our id and fence."""
    payload: dict[str, Any] = msgspec.json.decode(message.payload) or {}
    callers = payload.get(OPAQUE, "")
    typed = _template(message.template, payload) if message.template else _freeform(payload)
    body = {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "recipient" if is_user_id(message.recipient) else "to": message.recipient,
        **_beside(payload),
        **typed,
        OPAQUE: stamp(message.id, message.fence, callers),
    }
    return msgspec.json.encode(body)


def _beside(payload: dict[str, Any]) -> dict[str, Any]:
    return {name: payload[name] for name in _BESIDE if payload.get(name) is not None}


def _template(name: str, payload: dict[str, Any]) -> dict[str, Any]:
    language = payload["language"]
    template: dict[str, Any] = {
        "name": name,
        "language": language if isinstance(language, dict) else {"code": language},
    }
    if payload.get("components"):
        template["components"] = payload["components"]
    return {"type": "template", "template": template}


def _freeform(payload: dict[str, Any]) -> dict[str, Any]:
    if "type" not in payload:
        return {"type": "text", "text": {"body": payload["text"]}}
    return {key: value for key, value in payload.items() if key not in _OURS}


class _Kind(msgspec.Struct):
    type: str = "text"


_kind = msgspec.json.Decoder(_Kind)


def kind_of(payload: str) -> str:
    """The type of a message object in JSON; the short form `{"text": …}` is text."""
    try:
        return _kind.decode(payload).type
    except (msgspec.MsgspecError, RecursionError):
        return "unknown"

"""The text of a message, its content as the chat API shows it, and the final content of a burst."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from waypost.rules.text import json_parts

Json = dict[str, Any]
MessageContent = tuple[str, Json]
"""A message's wamid and the Cloud API's object."""

MEDIA: Final = ("image", "video", "audio", "document", "sticker")
_BESIDE: Final[tuple[str, ...]] = ("context", "referral", "errors", "identity")
"""Fields beside the content that are shown with it."""
_NAMELESS: Final = "unknown"


def read(body: str, kind: str) -> Json:
    """Parse a stored message; the short form is a text. Accepts any input."""
    message = json_parts.whole(body)
    if not message:
        return {"type": kind}
    text = message.get("text")
    return {"type": "text", "text": {"body": text}} if isinstance(text, str) and "type" not in message else message


def words(message: Json) -> str:
    """The text of a message, the customer's or ours; empty if it has none. Accepts any shape."""
    latest = as_edited(message)
    kind = kind_of(latest)
    find = _WORDS.get(kind)
    return find(latest.get(kind)) if find else ""


def shown(message: Json) -> Json:
    """A message as the chat API shows it; one of an unknown kind or shape is returned whole. Accepts any shape."""
    kind = kind_of(message)
    text = words(message)
    beside: Json = {name: message[name] for name in _BESIDE if name in message}
    if kind == "text" and _is_text(message.get("text")):
        return {"type": kind, "text": text, **beside}
    if kind not in _KNOWN:
        return {**message, "type": kind, "unknown": True}
    content = {kind: message[kind]} if kind in message else {}
    return {"type": kind, **content, **({"text": text} if text else {}), **beside}


def burst(messages: Iterable[MessageContent]) -> list[MessageContent]:
    """The final messages of a burst, in the order of writing.

    An edited message has its new content at its old place; revoked messages and reactions, which need no answer, are
    removed. An edit of a message from before the burst stays as an edit.
    """
    ordered = _by_time(list(messages))
    edits = {wamid: original for wamid, each in ordered if (original := _original(each, "edit"))}
    revoked = {_first(original, edits) for _, each in ordered if (original := _original(each, "revoke"))}
    originals = {wamid for wamid, _ in ordered} - edits.keys()
    newest: dict[str, Json] = {}
    kept: list[MessageContent] = []
    for wamid, each in ordered:
        first = _first(wamid, edits)
        if wamid in edits and first in originals:
            newest[first] = as_edited(each)
        elif first not in revoked and kind_of(each) not in ("reaction", "revoke"):
            kept.append((wamid, each))
    return [(wamid, {**each, **newest.get(wamid, {})}) for wamid, each in kept]


def kind_of(message: Json) -> str:
    """The Cloud API's message type; `text` for our short form, which has none."""
    kind = message.get("type")
    if isinstance(kind, str) and kind:
        return kind
    return "text" if "type" not in message and isinstance(message.get("text"), str) else _NAMELESS


def as_edited(message: Json) -> Json:
    """The new message of an edit; any other message unchanged."""
    while kind_of(message) == "edit" and isinstance(inner := _at(message.get("edit"), "message"), dict):
        message = inner
    return message


def _original(message: Json, kind: str) -> str | None:
    """The id of the message that an edit or revocation refers to; None for other or incomplete messages."""
    about = message.get(kind) if kind_of(message) == kind else None
    original = _at(about, "original_message_id")
    complete = kind != "edit" or isinstance(_at(about, "message"), dict)
    return original if isinstance(original, str) and original and complete else None


def _first(wamid: str, edits: Mapping[str, str]) -> str:
    """The original message before all edits; stops at a cycle."""
    seen = {wamid}
    while (earlier := edits.get(wamid)) and earlier not in seen:
        seen.add(earlier)
        wamid = earlier
    return wamid


def _by_time(messages: list[MessageContent]) -> list[MessageContent]:
    """Sort by timestamp, then by order received; one without a valid timestamp gets that of the message before it."""
    times: list[float] = []
    for _, message in messages:
        times.append(_time(message.get("timestamp"), times[-1] if times else 0.0))
    return [messages[place] for place in sorted(range(len(messages)), key=times.__getitem__)]


def _time(timestamp: object, otherwise: float) -> float:
    if isinstance(timestamp, bool) or not isinstance(timestamp, str | int | float):
        return otherwise
    try:
        at = float(timestamp)
    except (ValueError, OverflowError):
        return otherwise
    return at if math.isfinite(at) else otherwise


# The text of each kind


def _at(holder: object, *path: str) -> object:
    """The value at this path, or None."""
    for key in path:
        holder = holder.get(key) if isinstance(holder, dict) else None
    return holder


def _text_at(holder: object, *path: str) -> str:
    found = _at(holder, *path)
    return found if isinstance(found, str) else ""


def _joined(parts: Iterable[str]) -> str:
    return ", ".join(part for part in parts if part)


def _is_text(content: object) -> bool:
    return isinstance(content, str) or isinstance(_at(content, "body"), str)


def _of_text(content: object) -> str:
    return content if isinstance(content, str) else _text_at(content, "body")


def _of_place(content: object) -> str:
    return _joined((_text_at(content, "name"), _text_at(content, "address")))


def _of_cards(content: object) -> str:
    return _joined(map(_name_on, content)) if isinstance(content, list) else ""


def _name_on(card: object) -> str:
    parts = (_text_at(card, "name", part) for part in ("first_name", "last_name"))
    return _text_at(card, "name", "formatted_name") or " ".join(part for part in parts if part)


def _of_interactive(content: object) -> str:
    """The title of the customer's choice, the body of a flow's answer, or the body of our question."""
    chosen = _at(content, _text_at(content, "type"))
    return _text_at(chosen, "title") or _text_at(chosen, "body") or _text_at(content, "body", "text")


def _under(*path: str) -> Callable[[object], str]:
    return lambda content: _text_at(content, *path)


def _nothing(_: object) -> str:
    return ""


_WORDS: Final[Mapping[str, Callable[[object], str]]] = MappingProxyType(
    {
        "text": _of_text,
        **dict.fromkeys(MEDIA, _under("caption")),
        "location": _of_place,
        "contacts": _of_cards,
        "reaction": _under("emoji"),
        "button": _under("text"),
        "interactive": _of_interactive,
        "order": _under("text"),
        "system": _under("body"),
        "template": _under("name"),
        "edit": _nothing,
        "revoke": _nothing,
        "unsupported": _nothing,
        "request_welcome": _nothing,
    }
)
_KNOWN: Final = frozenset(_WORDS) - {"text"}
"""Without `text`: a text message without a body has an unknown shape."""

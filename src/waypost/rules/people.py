"""Customers and what they say: one name for a number's two forms, and the words and the picture of a message."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from waypost.rules import json_parts
from waypost.rules.recipient import is_user_id

Json = dict[str, Any]
Said = tuple[str, Json]
"""A message's wamid and the Cloud API's object."""

_TWO_FORMS: Final = (
    (re.compile(r"\+521([0-9]{10})", re.ASCII), r"+52\1"),
    (re.compile(r"\+549([0-9]{10})", re.ASCII), r"+54\1"),
    (re.compile(r"\+55([1-9][0-9])([6-9][0-9]{7})", re.ASCII), r"+55\g<1>9\2"),
)
"""Mexico's 1 and Argentina's 9 go; Brazil's ninth digit comes, where eight digits can only be a mobile's."""
_OTHER_FORMS: Final = (
    (re.compile(r"\+52([0-9]{10})", re.ASCII), r"+521\1"),
    (re.compile(r"\+54([0-9]{10})", re.ASCII), r"+549\1"),
    (re.compile(r"\+55([1-9][0-9])9([6-9][0-9]{7})", re.ASCII), r"+55\1\2"),
)
"""From the alias to the form that is not the alias."""
_COUNTRIES: Final = ("+52", "+54", "+55")
MEDIA: Final = ("image", "video", "audio", "document", "sticker")
_BESIDE: Final[tuple[str, ...]] = ("context", "referral", "errors", "identity")
"""What a message carries along with its content."""
_NAMELESS: Final = "unknown"


def alias(phone: str) -> str:
    """The form under which a contact is matched, whichever of its number's forms came. Never to be sent to."""
    for form, same in _TWO_FORMS:
        if form.fullmatch(phone):
            return form.sub(same, phone)
    return phone


def address_of(recipient: str) -> str:
    """Under which whoever gets a message is known: by phone, in the form that contacts are matched by, or by id."""
    return f"user:{recipient}" if is_user_id(recipient) else f"phone:{alias(recipient)}"


def read(body: str, kind: str) -> Json:
    """A stored message; what was queued in the short form is a text. None is so odd that it stops anything."""
    message = json_parts.whole(body)
    if not message:
        return {"type": kind}
    text = message.get("text")
    return {"type": "text", "text": {"body": text}} if isinstance(text, str) and "type" not in message else message


def spellings(address: str) -> tuple[str, ...]:
    """Every form in which the same phone may be written or sent to, its alias first; anything else has one."""
    if not address.startswith(_COUNTRIES):  # nearly all: this is asked of every message that comes
        return (address,)
    name = alias(address)
    return (name, *(form.sub(other, name) for form, other in _OTHER_FORMS if form.fullmatch(name)))


def words(message: Json) -> str:
    """What a message says in words, the customer's or ours; empty where there are none. Takes any shape."""
    latest = as_edited(message)
    kind = kind_of(latest)
    find = _WORDS.get(kind)
    return find(latest.get(kind)) if find else ""


def shown(message: Json) -> Json:
    """A message as the chat API shows it; one of a kind or shape that we do not know is kept whole. Takes any shape."""
    kind = kind_of(message)
    said = words(message)
    beside: Json = {name: message[name] for name in _BESIDE if name in message}
    if kind == "text" and _is_text(message.get("text")):
        return {"type": kind, "text": said, **beside}
    if kind not in _KNOWN:
        return {**message, "type": kind, "unknown": True}
    content = {kind: message[kind]} if kind in message else {}
    return {"type": kind, **content, **({"text": said} if said else {}), **beside}


def burst(messages: Iterable[Said]) -> list[Said]:
    """What a burst says in the end, in the order of writing.

    An edited message has its new content, at its old place; a revoked one is gone, and so are reactions, which want no
    answer. An edit of something from before the burst stays, as the edit that it is.
    """
    ordered = _by_time(list(messages))
    edits = {wamid: original for wamid, each in ordered if (original := _original(each, "edit"))}
    revoked = {_first(original, edits) for _, each in ordered if (original := _original(each, "revoke"))}
    originals = {wamid for wamid, _ in ordered} - edits.keys()
    newest: dict[str, Json] = {}
    kept: list[Said] = []
    for wamid, each in ordered:
        first = _first(wamid, edits)
        if wamid in edits and first in originals:
            newest[first] = as_edited(each)
        elif first not in revoked and kind_of(each) not in ("reaction", "revoke"):
            kept.append((wamid, each))
    return [(wamid, {**each, **newest.get(wamid, {})}) for wamid, each in kept]


def kind_of(message: Json) -> str:
    """The Cloud API's word for what it is; our own short form of a text has none."""
    kind = message.get("type")
    if isinstance(kind, str) and kind:
        return kind
    return "text" if "type" not in message and isinstance(message.get("text"), str) else _NAMELESS


def as_edited(message: Json) -> Json:
    """Of an edit, the message that it makes."""
    while kind_of(message) == "edit" and isinstance(inner := _at(message.get("edit"), "message"), dict):
        message = inner
    return message


def _original(message: Json, kind: str) -> str | None:
    """Which message an edit or a revocation is about; None of what is none, or says too little to be one."""
    about = message.get(kind) if kind_of(message) == kind else None
    original = _at(about, "original_message_id")
    complete = kind != "edit" or isinstance(_at(about, "message"), dict)
    return original if isinstance(original, str) and original and complete else None


def _first(wamid: str, edits: Mapping[str, str]) -> str:
    """The message that was there before all edits; edits that point at each other have the first that comes round."""
    seen = {wamid}
    while (earlier := edits.get(wamid)) and earlier not in seen:
        seen.add(earlier)
        wamid = earlier
    return wamid


def _by_time(messages: list[Said]) -> list[Said]:
    """By their own times, else by arrival; one without a readable time was written when the one before it was."""
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


# What each kind says


def _at(holder: object, *path: str) -> object:
    """What lies there, if anything does."""
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
    """The title of what a customer chose, the body of a flow's answer, or the body of what we asked."""
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
"""A text without its words is of a shape that we do not know."""

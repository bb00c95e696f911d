"""JSON that others wrote, part by part: what cannot be read never costs its neighbours."""

from __future__ import annotations

from typing import Any

import msgspec

LONGEST = 255
"""Of whatever becomes part of a key or a name."""
DEEPEST = 100
"""Levels. What nests deeper says nothing to anybody, and can be too much for whoever writes it out again."""
UNREADABLE = (msgspec.MsgspecError, RecursionError)


def fields(raw: msgspec.Raw | bytes | str) -> dict[str, msgspec.Raw]:
    """None of what is no object."""
    try:
        return msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except UNREADABLE:
        return {}


def listed(raw: msgspec.Raw | None) -> list[msgspec.Raw]:
    """The items of a list; what should be a list and is none is its own only item, so that it is not lost."""
    if raw is None or bytes(raw) == b"null":
        return []
    try:
        return msgspec.json.decode(raw, type=list[msgspec.Raw])
    except UNREADABLE:
        return [raw]


def scalar(raw: msgspec.Raw | None) -> str | int | float | None:
    try:
        return msgspec.json.decode(raw, type=str | int | float) if raw is not None else None
    except UNREADABLE:
        return None


def text(raw: msgspec.Raw | None) -> str | None:
    """An id is sometimes written as a number."""
    found = scalar(raw)
    return str(found) if isinstance(found, str | int) else None


def plain(words: str) -> str:
    """PostgreSQL keeps every character but one."""
    return words.replace("\0", "\ufffd") if "\0" in words else words


def whole(body: str) -> dict[str, Any]:
    """An object without the fields that cannot be read: a number that no machine holds, or what nests too deep."""
    try:
        found = msgspec.json.decode(body)
    except UNREADABLE:
        found = None
    if isinstance(found, dict) and not _too_deep(found, body):
        return found
    apart = ((name, _value(bytes(raw).decode())) for name, raw in fields(body).items())
    return {name: value for name, value in apart if value is not msgspec.UNSET}


def _value(body: str) -> Any:
    try:
        found = msgspec.json.decode(body)
    except UNREADABLE:
        return msgspec.UNSET
    return msgspec.UNSET if _too_deep(found, body) else found


def _too_deep(found: Any, body: str) -> bool:
    if body.count("[") + body.count("{") <= DEEPEST:
        return False
    level = [found]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inside(each) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()

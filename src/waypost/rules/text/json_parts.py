"""Untrusted JSON, parsed part by part, so that an unreadable part does not affect others."""

from __future__ import annotations

from typing import Any

import msgspec

LONGEST = 255
"""Maximum characters of a text used as a key or name."""
DEEPEST = 100
"""Nesting levels; deeper JSON can overflow the encoder."""
UNREADABLE = (msgspec.MsgspecError, RecursionError)


def fields(raw: msgspec.Raw | bytes | str) -> dict[str, msgspec.Raw]:
    """The fields of an object; empty for anything else."""
    try:
        return msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except UNREADABLE:
        return {}


def listed(raw: msgspec.Raw | None) -> list[msgspec.Raw]:
    """The items of a list; any other value is returned as the only item, so that it is not lost."""
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
    """A string; a number is converted, since ids are sometimes numbers."""
    found = scalar(raw)
    return str(found) if isinstance(found, str | int) else None


def plain(words: str) -> str:
    """Without NUL, which PostgreSQL cannot store."""
    return words.replace("\0", "\ufffd") if "\0" in words else words


def whole(body: str) -> dict[str, Any]:
    """An object without its unreadable fields: numbers out of range, and values that nest too deeply."""
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

"""Validates each type of message, with Meta's limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from waypost.sandbox.content.interactive import wrong_interactive
from waypost.sandbox.content.json_checks import (
    Json,
    list_at,
    object_at,
    unexpected_key,
    wrong_flag,
    wrong_link,
    wrong_optional_text,
    wrong_text,
)
from waypost.sandbox.edge.graph_errors import UNSUPPORTED_TYPE, GraphError, bad_parameter, invalid, missing

LONGEST_TEXT: Final = 4096
LONGEST_CAPTION: Final = 1024
LONGEST_CALLBACK_DATA: Final = 512
MOST_CONTACTS: Final = 257

_MEDIA_KEYS: Final = MappingProxyType(
    {
        "image": ("id", "link", "caption", "provider"),
        "video": ("id", "link", "caption", "provider"),
        "audio": ("id", "link", "voice", "provider"),
        "document": ("id", "link", "caption", "filename", "provider"),
        "sticker": ("id", "link", "provider"),
    }
)
_NAME_PARTS: Final = ("first_name", "last_name", "middle_name", "suffix", "prefix")


def wrong_envelope(body: Json) -> GraphError | None:
    """Validates what all messages have in common, except the recipient."""
    if body.get("messaging_product") != "whatsapp":
        return bad_parameter("The parameter messaging_product is required.")
    if body.get("recipient_type", "individual") != "individual":
        return invalid("recipient_type", "must be individual")
    data = body.get("biz_opaque_callback_data")
    if data is not None and (not isinstance(data, str) or len(data) > LONGEST_CALLBACK_DATA):
        return bad_parameter(f"Param biz_opaque_callback_data must be at most {LONGEST_CALLBACK_DATA} characters long.")
    return _wrong_context(body.get("context"))


def _wrong_context(context: object) -> GraphError | None:
    if context is None:
        return None
    if not isinstance(context, dict):
        return invalid("context", "must be an object")
    return wrong_text(context, "message_id", "context.")


def wrong_content(kind: str, body: Json) -> GraphError | None:
    """Validates a message of this type; `templates` compares template messages with their definition."""
    check = _CHECKS.get(kind)
    if check is None:
        return GraphError(UNSUPPORTED_TYPE, details=f"Message type '{kind}' is not supported")
    if kind == "contacts":
        return _wrong_contacts(body)
    content = object_at(body, kind)
    return content if isinstance(content, GraphError) else check(kind, content)


def _wrong_text(_: str, text: Json) -> GraphError | None:
    body = text.get("body")
    if isinstance(body, str) and len(body) > LONGEST_TEXT:
        return bad_parameter(f"Param text['body'] must be at most {LONGEST_TEXT} characters long.")
    return (
        wrong_text(text, "body", "text.")
        or wrong_flag(text, "preview_url", "text.")
        or unexpected_key(text, ("body", "preview_url"), "text")
    )


def _wrong_media(kind: str, media: Json) -> GraphError | None:
    where = f"{kind}."
    if media.get("id") is None and media.get("link") is None:
        return missing(f"{where}id or {where}link")
    if media.get("id") is not None and media.get("link") is not None:
        return invalid(kind, "must have either id or link, not both")
    return (
        unexpected_key(media, _MEDIA_KEYS[kind], kind)
        or (wrong_link(media, "link", where) if "link" in media else wrong_text(media, "id", where))
        or wrong_optional_text(media, "caption", where, LONGEST_CAPTION)
        or wrong_optional_text(media, "filename", where)
        or wrong_flag(media, "voice", where)
    )


def _wrong_location(_: str, location: Json) -> GraphError | None:
    return (
        _wrong_degrees(location, "latitude", 90)
        or _wrong_degrees(location, "longitude", 180)
        or wrong_optional_text(location, "name", "location.")
        or wrong_optional_text(location, "address", "location.")
        or unexpected_key(location, ("latitude", "longitude", "name", "address"), "location")
    )


def _wrong_degrees(location: Json, key: str, most: int) -> GraphError | None:
    """Meta accepts numbers and numeric strings."""
    value = location.get(key)
    if value is None or value == "":
        return missing(f"location.{key}")
    try:
        fine = -most <= float(value) <= most and not isinstance(value, bool)
    except (TypeError, ValueError):
        fine = False
    return None if fine else invalid(f"location.{key}", f"must be a number between -{most} and {most}")


def _wrong_reaction(_: str, reaction: Json) -> GraphError | None:
    if reaction.get("emoji") is None:
        return missing("reaction.emoji")
    return (
        wrong_text(reaction, "message_id", "reaction.")
        or wrong_optional_text(reaction, "emoji", "reaction.")
        or unexpected_key(reaction, ("message_id", "emoji"), "reaction")
    )


def _wrong_contacts(body: Json) -> GraphError | None:
    cards = list_at(body, "contacts", "", MOST_CONTACTS)
    if isinstance(cards, GraphError):
        return cards
    return next(filter(None, map(_wrong_card, cards)), None)


def _wrong_card(card: Json) -> GraphError | None:
    name = object_at(card, "name", "contacts.")
    if isinstance(name, GraphError):
        return name
    if wrong := wrong_text(name, "formatted_name", "contacts.name."):
        return wrong
    has_part = any(name.get(part) for part in _NAME_PARTS)
    return None if has_part else missing("contacts.name." + ", ".join(_NAME_PARTS))


def _wrong_template(_: str, template: Json) -> GraphError | None:
    language = object_at(template, "language", "template.")
    if isinstance(language, GraphError):
        return language
    components = template.get("components", [])
    if not isinstance(components, list) or not all(isinstance(component, dict) for component in components):
        return invalid("template.components", "must be a list of objects")
    return wrong_text(template, "name", "template.", 512) or wrong_text(language, "code", "template.language.")


def _wrong_interactive(_: str, interactive: Json) -> GraphError | None:
    return wrong_interactive(interactive)


_CHECKS: Final[Mapping[str, Callable[[str, Json], GraphError | None]]] = MappingProxyType(
    {
        "text": _wrong_text,
        **dict.fromkeys(_MEDIA_KEYS, _wrong_media),
        "location": _wrong_location,
        "contacts": lambda _, body: _wrong_contacts(body),
        "reaction": _wrong_reaction,
        "interactive": _wrong_interactive,
        "template": _wrong_template,
    }
)

"""Parsing of templates and their status changes from the provider's JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from waypost.model.template import Template, TemplateButton, TemplateHeader, TemplateStatusChange, TemplateText

LONGEST_NAME = 512
LONGEST_WORD = 64
"""Characters of a language, a status or a category."""

_PLACE = re.compile(r"\{\{\s*([A-Za-z0-9_]+)\s*\}\}")
_MEANS = {"REINSTATED": "APPROVED", "UNARCHIVED": "APPROVED"}
_CHANGES_NOTHING = ("FLAGGED", "LOCKED")
"""A warning and a lock on editing; the template can still be sent."""


def words(text: object) -> TemplateText:
    if not isinstance(text, str):
        return TemplateText()
    places = list(dict.fromkeys(_PLACE.findall(text)))
    return TemplateText(text, tuple(sorted(places, key=int) if all(map(str.isdecimal, places)) else places))


def filled(blank: TemplateText, values: Mapping[str, str]) -> str:
    """The text with its placeholders filled in; one without a value stays."""
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), blank.text)


def read(item: object) -> Template | None:
    """A template from the account's list; None without a valid name, language and status.

    Parts that are missing or of an unknown kind are left out, and so never checked.
    """
    given: Mapping[str, Any] = item if isinstance(item, dict) else {}
    name, language, status = (given.get(field) for field in ("name", "language", "status"))
    if not (_is_word(name, LONGEST_NAME) and _is_word(language) and _is_word(status)):
        return None
    parts = {str(part.get("type")).lower(): part for part in _objects(given.get("components"))}
    return Template(
        id=str(given.get("id") or "")[:LONGEST_WORD],
        name=str(name),
        language=str(language),
        status=str(status).upper(),
        category=str(given.get("category") or "")[:LONGEST_WORD].upper(),
        named=_is_named(given.get("parameter_format"), parts),
        header=_header(parts["header"]) if "header" in parts else None,
        body=words(parts["body"]["text"]) if isinstance(parts.get("body", {}).get("text"), str) else None,
        footer=_text(parts.get("footer", {}).get("text")) or None,
        buttons=tuple(_button(each) for each in _objects(parts.get("buttons", {}).get("buttons"))),
        definition=msgspec.json.encode(given, order="deterministic").decode(),
    )


def read_definition(definition: str) -> Template | None:
    """The template stored as this JSON."""
    return read(msgspec.json.decode(definition))


def _is_word(value: object, longest: int = LONGEST_WORD) -> bool:
    """Whether it can be part of a key."""
    return isinstance(value, str) and 0 < len(value) <= longest and value.isprintable()


def _objects(value: object) -> Sequence[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is_named(format_: object, parts: Mapping[str, Mapping[str, Any]]) -> bool:
    """The declared format, or else derived from the placeholders."""
    if isinstance(format_, str) and format_.upper() in ("NAMED", "POSITIONAL"):
        return format_.upper() == "NAMED"
    places = [place for kind in ("header", "body") for place in words(parts.get(kind, {}).get("text")).places]
    return any(not place.isdecimal() for place in places)


def _header(part: Mapping[str, Any]) -> TemplateHeader:
    return TemplateHeader(str(part.get("format") or "text").lower(), words(part.get("text")))


def _button(part: Mapping[str, Any]) -> TemplateButton:
    value = part.get("url") or part.get("phone_number")
    return TemplateButton(str(part.get("type")).lower(), _text(part.get("text")), words(value))


def status_change(value: object) -> TemplateStatusChange | None:
    """The change in a `message_template_status_update` webhook; None if the template stays usable."""
    given: Mapping[str, Any] = value if isinstance(value, dict) else {}
    event, name = given.get("event"), given.get("message_template_name")
    language = given.get("message_template_language")
    if not (_is_word(event) and _is_word(name, LONGEST_NAME) and _is_word(language)):
        return None
    status = str(event).upper()
    if status in _CHANGES_NOTHING:
        return None
    # The webhook writes `en-US`, a message needs `en_US`.
    return TemplateStatusChange(str(name), str(language).replace("-", "_"), _MEANS.get(status, status))

"""From the provider's words to a template, and to what has become of one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from waypost.model.template import Button, Header, StatusChange, Template, Words

LONGEST_NAME = 512
LONGEST_WORD = 64
"""Characters of a language, a status or a category."""

_PLACE = re.compile(r"\{\{\s*([A-Za-z0-9_]+)\s*\}\}")
_MEANS = {"REINSTATED": "APPROVED", "UNARCHIVED": "APPROVED"}
_CHANGES_NOTHING = ("FLAGGED", "LOCKED")
"""A warning, and a ban on editing: it can be sent as before."""


def words(text: object) -> Words:
    if not isinstance(text, str):
        return Words()
    places = list(dict.fromkeys(_PLACE.findall(text)))
    return Words(text, tuple(sorted(places, key=int) if all(map(str.isdecimal, places)) else places))


def filled(blank: Words, values: Mapping[str, str]) -> str:
    """With the values in their places; a place without one stays as it is."""
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), blank.text)


def read(item: object) -> Template | None:
    """A template as the account lists it; None for what has no name, language and status of a template.

    Whatever else is missing or of a kind that did not exist when this was written is left out, and so never checked.
    """
    told: Mapping[str, Any] = item if isinstance(item, dict) else {}
    name, language, status = (told.get(field) for field in ("name", "language", "status"))
    if not (_is_word(name, LONGEST_NAME) and _is_word(language) and _is_word(status)):
        return None
    parts = {str(part.get("type")).lower(): part for part in _objects(told.get("components"))}
    return Template(
        id=str(told.get("id") or "")[:LONGEST_WORD],
        name=str(name),
        language=str(language),
        status=str(status).upper(),
        category=str(told.get("category") or "")[:LONGEST_WORD].upper(),
        named=_is_named(told.get("parameter_format"), parts),
        header=_header(parts["header"]) if "header" in parts else None,
        body=words(parts["body"]["text"]) if isinstance(parts.get("body", {}).get("text"), str) else None,
        footer=_text(parts.get("footer", {}).get("text")) or None,
        buttons=tuple(_button(each) for each in _objects(parts.get("buttons", {}).get("buttons"))),
        definition=msgspec.json.encode(told, order="deterministic").decode(),
    )


def read_definition(definition: str) -> Template | None:
    """The template that was kept as this text."""
    return read(msgspec.json.decode(definition))


def _is_word(value: object, longest: int = LONGEST_WORD) -> bool:
    """It becomes part of a key."""
    return isinstance(value, str) and 0 < len(value) <= longest and value.isprintable()


def _objects(value: object) -> Sequence[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is_named(format_: object, parts: Mapping[str, Mapping[str, Any]]) -> bool:
    """As the account says; an account that says nothing shows it by the places themselves."""
    if isinstance(format_, str) and format_.upper() in ("NAMED", "POSITIONAL"):
        return format_.upper() == "NAMED"
    places = [place for kind in ("header", "body") for place in words(parts.get(kind, {}).get("text")).places]
    return any(not place.isdecimal() for place in places)


def _header(part: Mapping[str, Any]) -> Header:
    return Header(str(part.get("format") or "text").lower(), words(part.get("text")))


def _button(part: Mapping[str, Any]) -> Button:
    value = part.get("url") or part.get("phone_number")
    return Button(str(part.get("type")).lower(), _text(part.get("text")), words(value))


def status_change(value: object) -> StatusChange | None:
    """What a `message_template_status_update` webhook tells; None when the template can be used as before."""
    told: Mapping[str, Any] = value if isinstance(value, dict) else {}
    event, name = told.get("event"), told.get("message_template_name")
    language = told.get("message_template_language")
    if not (_is_word(event) and _is_word(name, LONGEST_NAME) and _is_word(language)):
        return None
    status = str(event).upper()
    if status in _CHANGES_NOTHING:
        return None
    # The webhook writes `en-US` where a message must say `en_US`.
    return StatusChange(str(name), str(language).replace("-", "_"), _MEANS.get(status, status))

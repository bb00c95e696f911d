"""Validates template parameters against the definition and renders the text."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from waypost.sandbox.content.json_checks import Json
from waypost.sandbox.edge.graph_errors import TEMPLATE_COUNT, TEMPLATE_FORMAT, TEMPLATE_TOO_LONG, GraphError, missing

_VARIABLE: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_TEXT_LIKE: Final = ("text", "currency", "date_time")


class TextWithSlots(msgspec.Struct, frozen=True):
    """A text with variables."""

    kind: str
    text: str
    names: tuple[str, ...]
    longest: int


class Layout(msgspec.Struct, frozen=True):
    """The parameters that a template's definition requires, parsed."""

    header: TextWithSlots
    header_media: str | None
    """`image`, `video`, `document` or `location`; None for a text header."""
    body: TextWithSlots
    footer: str
    fixed_buttons: tuple[bool, ...]
    """For each button, whether it takes no parameter."""
    named: bool


def variables(text: object) -> list[str]:
    """The distinct names in double braces: numbers sorted, words in order of appearance."""
    names = list(dict.fromkeys(_VARIABLE.findall(text))) if isinstance(text, str) else []
    return sorted(names, key=int) if all(name.isdecimal() for name in names) else names


def layout_of(components: list[Json], named: bool) -> Layout:
    parts = {str(part.get("type")).lower(): part for part in components}
    header, body = parts.get("header", {}), parts.get("body", {})
    format_ = str(header.get("format", "TEXT")).lower()
    buttons = parts.get("buttons", {}).get("buttons", [])
    return Layout(
        header=_slots("header", header, 60),
        header_media=None if format_ == "text" else format_,
        body=_slots("body", body, 1024),
        footer=str(parts.get("footer", {}).get("text", "")),
        fixed_buttons=tuple(not variables(one.get("url")) and one.get("type") != "COPY_CODE" for one in buttons),
        named=named,
    )


def _slots(kind: str, part: Json, longest: int) -> TextWithSlots:
    return TextWithSlots(kind, str(part.get("text", "")), tuple(variables(part.get("text"))), longest)


def wrong_parameters(layout: Layout, components: list[Json]) -> GraphError | None:
    for component in components:
        parameters = component.get("parameters", [])
        if not isinstance(parameters, list) or not all(isinstance(value, dict) for value in parameters):
            return GraphError(TEMPLATE_FORMAT, details="components: parameters must be a list of objects")
    return (
        _wrong_header(layout, _sent(components, "header"))
        or _wrong_texts(layout.body, layout.named, _sent(components, "body"))
        or _wrong_buttons(layout.fixed_buttons, components)
    )


def _sent(components: list[Json], kind: str) -> list[Json]:
    for component in components:
        if str(component.get("type")).lower() == kind:
            parameters: list[Json] = component.get("parameters", [])
            return parameters
    return []


def _wrong_header(layout: Layout, sent: list[Json]) -> GraphError | None:
    """A text header is checked like the body; a media header needs exactly that media."""
    media = layout.header_media
    if media is None:
        return _wrong_texts(layout.header, layout.named, sent)
    if len(sent) != 1:
        return _miscounted("header", len(sent), 1)
    if sent[0].get("type") != media or not isinstance(sent[0].get(media), dict):
        received = str(sent[0].get("type", "unknown")).upper()
        details = f"header: Format mismatch, expected {media.upper()}, received {received}"
        return GraphError(TEMPLATE_FORMAT, details=details)
    return None


def _wrong_texts(slots: TextWithSlots, named: bool, sent: list[Json]) -> GraphError | None:
    if len(sent) != len(slots.names):
        return _miscounted(slots.kind, len(sent), len(slots.names))
    if wrong := next(filter(None, (_wrong_value(slots.kind, value) for value in sent)), None):
        return wrong
    if named and sorted(slots.names) != sorted(str(value.get("parameter_name")) for value in sent):
        details = f"{slots.kind}: parameter_name must be each of {', '.join(slots.names)}"
        return GraphError(TEMPLATE_FORMAT, details=details)
    length = len(_filled(slots, sent))
    if length > slots.longest:
        return GraphError(TEMPLATE_TOO_LONG, details=f"{slots.kind}: Translated text too long ({length})")
    return None


def _wrong_value(kind: str, value: Json) -> GraphError | None:
    type_ = value.get("type")
    if type_ not in _TEXT_LIKE:
        return GraphError(TEMPLATE_FORMAT, details=f"{kind}: Format mismatch, expected TEXT, received {type_}")
    if type_ == "text" and value.get("text") in (None, ""):
        return missing(f"template.components.{kind}.parameters.text")
    return None


def _wrong_buttons(fixed: tuple[bool, ...], components: list[Json]) -> GraphError | None:
    """A URL with a variable and a copy-code button need a value; a quick reply may have one."""
    given = {
        str(part.get("index")): len(part.get("parameters", []))
        for part in components
        if str(part.get("type")).lower() == "button"
    }
    for index, without_value in enumerate(fixed):
        count = given.pop(str(index), 0)
        if not without_value and count != 1:
            return _miscounted(f"Button at index {index}", count, 1)
    beyond = next(iter(given), None)
    return None if beyond is None else _miscounted(f"Button at index {beyond}", given[beyond], 0)


def _miscounted(kind: str, sent: int, expected: int) -> GraphError:
    details = f"{kind}: number of localizable_params ({sent}) does not match the expected number of params ({expected})"
    return GraphError(TEMPLATE_COUNT, details=details)


def _filled(slots: TextWithSlots, sent: list[Json]) -> str:
    if not slots.names:
        return slots.text
    places = zip(slots.names, sent, strict=False)
    values = {str(value.get("parameter_name") or name): _shown(value) for name, value in places}
    return _VARIABLE.sub(lambda found: values.get(found[1], found[0]), slots.text)


def _shown(value: Json) -> str:
    inner = value.get(str(value.get("type")))
    return str(inner.get("fallback_value", "")) if isinstance(inner, dict) else str(inner)


def rendered(layout: Layout, components: list[Json]) -> str:
    """The text of the message: header, body and footer, one line each."""
    header = _filled(layout.header, _sent(components, "header"))
    body = _filled(layout.body, _sent(components, "body"))
    return "\n".join(part for part in (header, body, layout.footer) if part)


def shown_buttons(components: list[Json], sent: list[Json]) -> list[Json]:
    """The buttons of a template message, with the sent values."""
    defined: list[Json] = next(
        (part["buttons"] for part in components if str(part.get("type")).upper() == "BUTTONS"), []
    )
    values = {str(part.get("index")): part.get("parameters", []) for part in sent if _is_button(part)}
    return [_button(one, next(iter(values.get(str(place), [])), {})) for place, one in enumerate(defined)]


def _is_button(part: Json) -> bool:
    return str(part.get("type")).lower() == "button"


def _button(defined: Json, value: Json) -> Json:
    """A quick reply's payload defaults to its text."""
    text = str(defined.get("text", ""))
    shown = {"type": str(defined.get("type")).upper(), "text": text}
    match shown["type"]:
        case "QUICK_REPLY":
            return {**shown, "payload": str(value.get("payload") or text)}
        case "URL":
            return {**shown, "url": _VARIABLE.sub(lambda _: str(value.get("text", "")), str(defined.get("url", "")))}
        case _:
            return shown

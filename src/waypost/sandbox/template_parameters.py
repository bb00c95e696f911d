"""Whether the values sent with a template fit its definition, and the text that comes out."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from waypost.sandbox.graph_errors import TEMPLATE_COUNT, TEMPLATE_FORMAT, TEMPLATE_TOO_LONG, Refusal, missing
from waypost.sandbox.shape import Json

_VARIABLE: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_TEXT_LIKE: Final = ("text", "currency", "date_time")


class Blank(msgspec.Struct, frozen=True):
    """A text with places to fill in."""

    kind: str
    text: str
    names: tuple[str, ...]
    longest: int


class Layout(msgspec.Struct, frozen=True):
    """What a template's definition asks of those who send it, read once."""

    header: Blank
    header_media: str | None
    """`image`, `video`, `document` or `location` where the header is no text."""
    body: Blank
    footer: str
    fixed_buttons: tuple[bool, ...]
    """For each button whether it goes without a value."""
    named: bool


def variables(text: object) -> list[str]:
    """The distinct names in double braces: numbers by size, words in order of appearance."""
    names = list(dict.fromkeys(_VARIABLE.findall(text))) if isinstance(text, str) else []
    return sorted(names, key=int) if all(name.isdecimal() for name in names) else names


def layout_of(components: list[Json], named: bool) -> Layout:
    parts = {str(part.get("type")).lower(): part for part in components}
    header, body = parts.get("header", {}), parts.get("body", {})
    format_ = str(header.get("format", "TEXT")).lower()
    buttons = parts.get("buttons", {}).get("buttons", [])
    return Layout(
        header=_blank("header", header, 60),
        header_media=None if format_ == "text" else format_,
        body=_blank("body", body, 1024),
        footer=str(parts.get("footer", {}).get("text", "")),
        fixed_buttons=tuple(not variables(one.get("url")) and one.get("type") != "COPY_CODE" for one in buttons),
        named=named,
    )


def _blank(kind: str, part: Json, longest: int) -> Blank:
    return Blank(kind, str(part.get("text", "")), tuple(variables(part.get("text"))), longest)


def wrong_parameters(layout: Layout, components: list[Json]) -> Refusal | None:
    for component in components:
        parameters = component.get("parameters", [])
        if not isinstance(parameters, list) or not all(isinstance(value, dict) for value in parameters):
            return Refusal(TEMPLATE_FORMAT, details="components: parameters must be a list of objects")
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


def _wrong_header(layout: Layout, sent: list[Json]) -> Refusal | None:
    """A text header is filled like the body; one with media takes exactly that media."""
    media = layout.header_media
    if media is None:
        return _wrong_texts(layout.header, layout.named, sent)
    if len(sent) != 1:
        return _miscounted("header", len(sent), 1)
    if sent[0].get("type") != media or not isinstance(sent[0].get(media), dict):
        received = str(sent[0].get("type", "unknown")).upper()
        details = f"header: Format mismatch, expected {media.upper()}, received {received}"
        return Refusal(TEMPLATE_FORMAT, details=details)
    return None


def _wrong_texts(blank: Blank, named: bool, sent: list[Json]) -> Refusal | None:
    if len(sent) != len(blank.names):
        return _miscounted(blank.kind, len(sent), len(blank.names))
    if wrong := next(filter(None, (_wrong_value(blank.kind, value) for value in sent)), None):
        return wrong
    if named and sorted(blank.names) != sorted(str(value.get("parameter_name")) for value in sent):
        details = f"{blank.kind}: parameter_name must be each of {', '.join(blank.names)}"
        return Refusal(TEMPLATE_FORMAT, details=details)
    length = len(_filled(blank, sent))
    if length > blank.longest:
        return Refusal(TEMPLATE_TOO_LONG, details=f"{blank.kind}: Translated text too long ({length})")
    return None


def _wrong_value(kind: str, value: Json) -> Refusal | None:
    type_ = value.get("type")
    if type_ not in _TEXT_LIKE:
        return Refusal(TEMPLATE_FORMAT, details=f"{kind}: Format mismatch, expected TEXT, received {type_}")
    if type_ == "text" and value.get("text") in (None, ""):
        return missing(f"template.components.{kind}.parameters.text")
    return None


def _wrong_buttons(fixed: tuple[bool, ...], components: list[Json]) -> Refusal | None:
    """A link with a variable and a code to copy need their value; a quick reply may have one."""
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


def _miscounted(kind: str, sent: int, expected: int) -> Refusal:
    details = f"{kind}: number of localizable_params ({sent}) does not match the expected number of params ({expected})"
    return Refusal(TEMPLATE_COUNT, details=details)


def _filled(blank: Blank, sent: list[Json]) -> str:
    if not blank.names:
        return blank.text
    places = zip(blank.names, sent, strict=False)
    values = {str(value.get("parameter_name") or name): _shown(value) for name, value in places}
    return _VARIABLE.sub(lambda found: values.get(found[1], found[0]), blank.text)


def _shown(value: Json) -> str:
    inner = value.get(str(value.get("type")))
    return str(inner.get("fallback_value", "")) if isinstance(inner, dict) else str(inner)


def rendered(layout: Layout, components: list[Json]) -> str:
    """All the words of the message: header, body and footer, one line each."""
    header = _filled(layout.header, _sent(components, "header"))
    body = _filled(layout.body, _sent(components, "body"))
    return "\n".join(part for part in (header, body, layout.footer) if part)


def shown_buttons(components: list[Json], sent: list[Json]) -> list[Json]:
    """The buttons of a message by template, with the values that were sent for them."""
    defined: list[Json] = next(
        (part["buttons"] for part in components if str(part.get("type")).upper() == "BUTTONS"), []
    )
    values = {str(part.get("index")): part.get("parameters", []) for part in sent if _is_button(part)}
    return [_button(one, next(iter(values.get(str(place), [])), {})) for place, one in enumerate(defined)]


def _is_button(part: Json) -> bool:
    return str(part.get("type")).lower() == "button"


def _button(defined: Json, value: Json) -> Json:
    """A quick reply answers with its payload, or with its own words where it was given none."""
    text = str(defined.get("text", ""))
    shown = {"type": str(defined.get("type")).upper(), "text": text}
    match shown["type"]:
        case "QUICK_REPLY":
            return {**shown, "payload": str(value.get("payload") or text)}
        case "URL":
            return {**shown, "url": _VARIABLE.sub(lambda _: str(value.get("text", "")), str(defined.get("url", "")))}
        case _:
            return shown

"""Checks of the values for a template: their number, types and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from waypost.model.template import Template, TemplateButton, TemplateHeader, TemplateText

_TEXT_LIKE = ("text", "currency", "date_time")
_FILES = ("image", "video", "document")
_NO_PARAMETERS = ("footer",)


class WrongParameters(msgspec.Struct, frozen=True):
    """`field` is the path from the object that holds `components`."""

    field: str
    reason: str


class GivenComponent(msgspec.Struct, frozen=True):
    """One component of a message."""

    at: str
    kind: str
    sub_type: str
    index: int | None
    parameters: Sequence[Mapping[str, Any]]

    @property
    def values(self) -> str:
        return f"{self.at}.parameters"


class _Takes(NamedTuple):
    """The parameters that a button accepts."""

    kind: str
    least: int
    most: int
    sub_types: tuple[str, ...]


_BUTTONS = {
    "quick_reply": _Takes("payload", 0, 1, ("quick_reply",)),
    "copy_code": _Takes("coupon_code", 1, 1, ("copy_code",)),
    "flow": _Takes("action", 0, 1, ("flow",)),
    "catalog": _Takes("action", 0, 1, ("catalog",)),
    "mpm": _Takes("action", 1, 1, ("mpm",)),
    "otp": _Takes("text", 1, 1, ("url", "copy_code")),
    "phone_number": _Takes("text", 0, 0, ("phone_number",)),
}
_LINK = _Takes("text", 1, 1, ("url",))
_FIXED_LINK = _Takes("text", 0, 0, ("url",))


def wrong_parameters(template: Template, components: object) -> WrongParameters | None:
    """The first error. What the template's definition does not specify is left to the provider."""
    given = parse_components(components)
    if isinstance(given, WrongParameters):
        return given
    return (
        _wrong_header(template, _only(given, "header"))
        or _wrong_body(template, _only(given, "body"))
        or _wrong_buttons(template.buttons, [each for each in given if each.kind == "button"])
        or _superfluous(given)
    )


def parse_components(components: object) -> list[GivenComponent] | WrongParameters:
    """The components of a message, or the first structural error."""
    if components is None:
        return []
    if not isinstance(components, list):
        return WrongParameters("components", "must be a list")
    given: list[GivenComponent] = []
    for number, component in enumerate(components):
        one = _component(f"components[{number}]", component)
        if isinstance(one, WrongParameters):
            return one
        if any((one.kind, one.index) == (other.kind, other.index) for other in given):
            return WrongParameters(one.at, f"{_called(one)} is there twice")
        given.append(one)
    return given


def _component(at: str, component: object) -> GivenComponent | WrongParameters:
    if not isinstance(component, dict) or not isinstance(component.get("type"), str):
        return WrongParameters(at, 'must be an object with a "type", e.g. {"type": "body", "parameters": […]}')
    parameters = component.get("parameters") or []
    if not isinstance(parameters, list) or not all(isinstance(each, dict) for each in parameters):
        return WrongParameters(f"{at}.parameters", "must be a list of objects")
    kind = component["type"].lower()
    index = _index(component.get("index"))
    if kind == "button" and index is None:
        return WrongParameters(f"{at}.index", "must be the button's place, counted from 0")
    sub_type = str(component.get("sub_type") or "").lower()
    return GivenComponent(at, kind, sub_type, index if kind == "button" else None, parameters)


def _index(value: object) -> int | None:
    """Accepts a number or a string."""
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else None


def _called(given: GivenComponent) -> str:
    return f"button {given.index}" if given.kind == "button" else given.kind[:40]


def _only(given: Sequence[GivenComponent], kind: str) -> GivenComponent:
    """The component of this kind, or one without parameters if the message has none."""
    absent = GivenComponent("components", kind, "", None, [])
    return next((each for each in given if each.kind == kind), absent)


def _superfluous(given: Sequence[GivenComponent]) -> WrongParameters | None:
    wrong = next((each for each in given if each.kind in _NO_PARAMETERS and each.parameters), None)
    return _miscounted(wrong, _called(wrong), 0, 0) if wrong else None


def _wrong_header(template: Template, given: GivenComponent) -> WrongParameters | None:
    header = template.header
    if header is None:
        return _miscounted(given, "header", 0, 0) if given.parameters else None
    if header.format == "text":
        return _wrong_words("header", header.words, template.named, given)
    return _wrong_medium(header, given) if header.format in (*_FILES, "location") else None


def _wrong_medium(header: TemplateHeader, given: GivenComponent) -> WrongParameters | None:
    """A media or location header needs exactly one parameter of its format."""
    kind = header.format
    if len(given.parameters) != 1:
        return _miscounted(given, f"header ({kind})", 1, 1)
    sent = given.parameters[0]
    if sent.get("type") != kind:
        return WrongParameters(f"{given.values}[0].type", f"header: must be {kind}, not {_quoted(sent.get('type'))}")
    inner = sent.get(kind)
    content: Mapping[str, Any] = inner if isinstance(inner, dict) else {}
    if kind == "location":
        complete, needed = all(content.get(each) is not None for each in ("latitude", "longitude")), "its coordinates"
    else:
        complete, needed = any(content.get(each) for each in ("id", "link")), "an id or a link"
    return None if complete else WrongParameters(f"{given.values}[0].{kind}", f"header: the {kind} needs {needed}")


def _wrong_body(template: Template, given: GivenComponent) -> WrongParameters | None:
    return _wrong_words("body", template.body, template.named, given) if template.body is not None else None


def _wrong_words(what: str, words: TemplateText, named: bool, given: GivenComponent) -> WrongParameters | None:
    wrong = _wrong_names(what, words, given) if named else _wrong_numbers(what, words, given)
    found = (_wrong_text(what, each, f"{given.values}[{n}]") for n, each in enumerate(given.parameters))
    return wrong or next(filter(None, found), None)


def _wrong_numbers(what: str, words: TemplateText, given: GivenComponent) -> WrongParameters | None:
    places = [f"{{{{{place}}}}}" for place in words.places]
    for number, each in enumerate(given.parameters):
        if words.places and each.get("parameter_name") is not None:
            reason = f"{what}: this template counts its parameters ({listed(places)}): leave the name out"
            return WrongParameters(f"{given.values}[{number}].parameter_name", reason)
    expected, sent = len(places), len(given.parameters)
    missing = f": {listed(places[sent:])} without a value" if sent < expected else ""
    return _miscounted(given, what, expected, expected, missing) if sent != expected else None


def _wrong_names(what: str, words: TemplateText, given: GivenComponent) -> WrongParameters | None:
    names: list[str] = []
    for number, each in enumerate(given.parameters):
        name, at = each.get("parameter_name"), f"{given.values}[{number}].parameter_name"
        if not words.places:
            return _miscounted(given, what, 0, 0)
        if not isinstance(name, str):
            return WrongParameters(
                at, f"{what}: is required, this template names its parameters: {listed(words.places)}"
            )
        if name not in words.places:
            return WrongParameters(at, f"{what}: there is no parameter {_quoted(name)}, only {listed(words.places)}")
        if name in names:
            return WrongParameters(at, f"{what}: {_quoted(name)} is given twice")
        names.append(name)
    missing = [place for place in words.places if place not in names]
    detail = f": {listed(missing)} without a value"
    return _miscounted(given, what, len(words.places), len(words.places), detail) if missing else None


def _wrong_text(what: str, sent: Mapping[str, Any], at: str) -> WrongParameters | None:
    kind = sent.get("type")
    if kind not in _TEXT_LIKE:
        return WrongParameters(f"{at}.type", f"{what}: must be text, not {_quoted(kind)}")
    value = sent.get(kind)
    if kind == "text":
        fits, needed = isinstance(value, str) and value != "", "must be a text that is not empty"
    else:
        fits, needed = isinstance(value, dict), "must be an object with a fallback_value"
    return None if fits else WrongParameters(f"{at}.{kind}", f"{what}: {needed}")


def _wrong_buttons(buttons: Sequence[TemplateButton], given: Sequence[GivenComponent]) -> WrongParameters | None:
    for each in given:
        if each.index is None or each.index >= len(buttons):
            return WrongParameters(f"{each.at}.index", f"{_called(each)}: this template has {len(buttons)} buttons")
    by_index = {each.index: each for each in given}
    found = (_wrong_button(number, button, by_index.get(number)) for number, button in enumerate(buttons))
    return next(filter(None, found), None)


def _wrong_button(number: int, button: TemplateButton, given: GivenComponent | None) -> WrongParameters | None:
    takes = (_LINK if button.value.places else _FIXED_LINK) if button.kind == "url" else _BUTTONS.get(button.kind)
    if takes is None:
        return None
    what = f"button {number} ({button.kind})"
    if given and given.sub_type not in takes.sub_types:
        reason = f"{what}: must be {' or '.join(takes.sub_types)}, not {_quoted(given.sub_type or None)}"
        return WrongParameters(f"{given.at}.sub_type", reason)
    sent = given or GivenComponent("components", "button", "", number, [])
    if not takes.least <= len(sent.parameters) <= takes.most:
        return _miscounted(sent, what, takes.least, takes.most)
    for each in sent.parameters:
        if each.get("type") != takes.kind:
            return WrongParameters(
                f"{sent.values}[0].type", f"{what}: must be {takes.kind}, not {_quoted(each.get('type'))}"
            )
        if each.get(takes.kind) in (None, ""):
            return WrongParameters(f"{sent.values}[0].{takes.kind}", f"{what}: must not be empty")
    return None


def _miscounted(given: GivenComponent, what: str, least: int, most: int, which: str = "") -> WrongParameters:
    expected = str(most) if least == most else f"{least} to {most}"
    noun = "parameter" if expected == "1" else "parameters"
    field = given.values if given.at != "components" else given.at
    return WrongParameters(field, f"{what}: {expected} {noun} expected, {len(given.parameters)} given{which}")


def listed(names: Sequence[str]) -> str:
    """The first ten names, each shortened."""
    shown = [name[:80] for name in names[:10]]
    return ", ".join(shown if len(names) <= 10 else [*shown, "…"])


def _quoted(value: object) -> str:
    """The caller's value, shortened."""
    return "nothing" if value is None else repr(str(value)[:40])

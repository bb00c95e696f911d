"""A caller's JSON against the type it should have: the typed value, or the field at fault in plain words."""

from __future__ import annotations

import re
from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

T = TypeVar("T")

Filled: TypeAlias = Annotated[str, Meta(min_length=1)]
Link: TypeAlias = Annotated[str, Meta(pattern=r"^https?://[^\s/]")]
"""Only how it begins: what else an address may hold is the provider's to judge, who fetches it."""

LONGEST_WORDS: Final = 200
"""A caller's own words are not sent back to them by the megabyte."""


class Invalid(msgspec.Struct, frozen=True):
    field: str
    reason: str


_AT = re.compile(r"(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_UNLIKE = re.compile(r"Expected `(.+)`, got `(.+)`")
_PLAIN: Final = (
    (re.compile(r"Expected `str` of length <= (\d+)"), r"must have at most \1 characters"),
    (re.compile(r"Expected `array` of length <= (\d+)"), r"must have at most \1 items"),
    (re.compile(r"Expected `(?:str|array)` of length >= 1"), "must not be empty"),
    (re.compile(r"Expected `str` matching regex '\^https\?.*'"), "must be an http or https address"),
    (re.compile(r"Expected `str` matching regex '\^\((.*)\)\\+Z'"), r"must be \1"),
    (re.compile(r"Expected `str` matching regex '.*'"), "is not written as it should be"),
)
_NAMES: Final = {
    "str": "a text",
    "object": "an object",
    "array": "a list",
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
    "null": "null",
}


def read(value: object, wanted: type[T], where: str) -> T | Invalid:
    """The value as `wanted`; fields that `wanted` does not know are nobody's business here."""
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        return _told(str(error), where)


def _told(words: str, where: str) -> Invalid:
    found = _AT.fullmatch(words)
    what, path = (found["what"], found["path"] or "") if found else (words, "")
    if missing := _MISSING.fullmatch(what):
        return Invalid(f"{where}{path}.{missing[1]}", "is required")
    return Invalid(where + path, _plain(what)[:LONGEST_WORDS])


def _plain(what: str) -> str:
    """Msgspec's words in ours."""
    if unlike := _UNLIKE.fullmatch(what):
        wanted = [name for name in unlike[1].split(" | ") if name != "null"]
        return f"must be {_either(wanted)}, not {_either([unlike[2]])}"
    for pattern, ours in _PLAIN:
        if found := pattern.fullmatch(what):
            return found.expand(ours).replace("|", " or ")
    return what


def _either(names: list[str]) -> str:
    return " or ".join(dict.fromkeys(_NAMES.get(name, name) for name in names))


def repeated(values: list[str], fields: list[str]) -> Invalid | None:
    """The first value that is there for the second time, by its field."""
    seen: dict[str, str] = {}
    for value, field in zip(values, fields, strict=True):
        if value in seen:
            return Invalid(field, f"must differ from {seen[value]}")
        seen[value] = field
    return None

"""Validation of a caller's JSON: the typed value, or the invalid field with a plain reason."""

from __future__ import annotations

import re
from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

T = TypeVar("T")

Filled: TypeAlias = Annotated[str, Meta(min_length=1)]
HttpUrl: TypeAlias = Annotated[str, Meta(pattern=r"^https?://[^\s/]")]
"""Checks only the start: the provider, which fetches it, judges the rest."""

LONGEST_WORDS: Final = 200
"""Maximum characters of a reason, since it may quote the caller's input."""


class InvalidField(msgspec.Struct, frozen=True):
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
    (re.compile(r"Expected `str` matching regex '.*'"), "has an invalid format"),
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


def read(value: object, wanted: type[T], where: str) -> T | InvalidField:
    """The value as `wanted`; unknown fields are ignored."""
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        return _invalid_field(str(error), where)


def _invalid_field(words: str, where: str) -> InvalidField:
    found = _AT.fullmatch(words)
    what, path = (found["what"], found["path"] or "") if found else (words, "")
    if missing := _MISSING.fullmatch(what):
        return InvalidField(f"{where}{path}.{missing[1]}", "is required")
    return InvalidField(where + path, _plain(what)[:LONGEST_WORDS])


def _plain(what: str) -> str:
    """Msgspec's message in plain words."""
    if unlike := _UNLIKE.fullmatch(what):
        wanted = [name for name in unlike[1].split(" | ") if name != "null"]
        return f"must be {_either(wanted)}, not {_either([unlike[2]])}"
    for pattern, ours in _PLAIN:
        if found := pattern.fullmatch(what):
            return found.expand(ours).replace("|", " or ")
    return what


def _either(names: list[str]) -> str:
    return " or ".join(dict.fromkeys(_NAMES.get(name, name) for name in names))


def repeated(values: list[str], fields: list[str]) -> InvalidField | None:
    """The field of the first repeated value."""
    seen: dict[str, str] = {}
    for value, field in zip(values, fields, strict=True):
        if value in seen:
            return InvalidField(field, f"must differ from {seen[value]}")
        seen[value] = field
    return None

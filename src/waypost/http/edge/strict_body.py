"""Request bodies, decoded strictly: a number in quotes is not a number, and the error names the field."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from litestar import Request

from waypost.http.edge.context import authenticated, host_of
from waypost.http.edge.problems import Problem

_AT = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?$", re.DOTALL)
_NAMED = re.compile(r"field `(?P<name>.*)`$")

_BYTE = re.compile(r"\(byte (\d+)\)")
_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:)?|[][{}]', re.DOTALL)

LONGEST_SEARCH = 64 * 1024
"""Bytes searched for the invalid field; more would cost too much for a better message."""
DEEP = 100
"""Deeper nesting is taken as the error itself."""
LONGEST_FIELD = 80
FOR_ANYBODY = "for anybody"
"""Option of a route that decodes its body before authentication; such a route limits the body's size."""
LONGEST_REASON = 300
"""Characters of the caller's text that an error repeats."""


class StrictRequest(Request[Any, Any, Any]):
    """Decodes JSON into the handler's type, after authentication where the route needs it."""

    async def json(self) -> Any:
        if not self.route_handler.opt.get(FOR_ANYBODY):
            await authenticated(self, (await host_of(self)).world)
        wanted = self.route_handler.parsed_fn_signature.parameters["data"].annotation
        body = await self.body()
        try:
            return msgspec.json.decode(body, type=wanted)
        except msgspec.ValidationError as error:
            raise invalid(str(error)) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Problem(
                400, "invalid_json", f"the body is not JSON: {error}", field=broken_at(body, error)
            ) from error


def invalid(message: str) -> Problem:
    """Msgspec's message, split into the field and the reason."""
    found = _AT.match(message)
    what, path = (found.group("what"), found.group("path") or "") if found else (message, "")
    named = _NAMED.search(what)
    field = ".".join(part for part in (path, named.group("name") if named else "") if part)[:LONGEST_FIELD] or None
    reason = what[:LONGEST_REASON]
    return Problem(422, "invalid_payload", f"{field}: {reason}" if field else reason, field=field)


def broken_at(body: bytes, error: Exception) -> str | None:
    """The outermost field in which the body stops being JSON, if it can be found."""
    end = _broken_byte(body, error)
    if end > LONGEST_SEARCH:
        return None
    depth, field = 0, None
    for token in _TOKEN.finditer(body, 0, end):
        if depth > DEEP:
            break
        if token[0] in b"{[":
            depth += 1
        elif token[0] in b"}]":
            depth -= 1
        elif depth == 1 and token[2]:
            field = token[1]
    return field.decode(errors="replace")[:LONGEST_FIELD] if field else None


def _broken_byte(body: bytes, error: Exception) -> int:
    if found := _BYTE.search(str(error)):
        return int(found[1])
    try:
        body.decode()
    except UnicodeDecodeError as broken:  # msgspec counts from the start of the text, this from that of the body
        return broken.start
    return min(len(body), LONGEST_SEARCH) if isinstance(error, RecursionError) else len(body)

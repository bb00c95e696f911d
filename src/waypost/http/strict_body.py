"""Request bodies, decoded strictly: a number in quotes is not a number, and the error names the field."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from litestar import Request

from waypost.http.context import authenticated
from waypost.http.problems import Problem

_AT = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?$", re.DOTALL)
_NAMED = re.compile(r"field `(?P<name>.*)`$")

LONGEST_FIELD = 80
LONGEST_REASON = 300
"""A caller's own words are not sent back to them by the megabyte."""


class StrictRequest(Request[Any, Any, Any]):
    """Decodes JSON straight into the type that the handler asks for, for callers that are known."""

    async def json(self) -> Any:
        await authenticated(self)
        wanted = self.route_handler.parsed_fn_signature.parameters["data"].annotation
        try:
            return msgspec.json.decode(await self.body(), type=wanted)
        except msgspec.ValidationError as error:
            raise invalid(str(error)) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Problem(400, "invalid_json", f"the body is not JSON: {error}") from error


def invalid(words: str) -> Problem:
    """Msgspec's words, with the field they are about pulled out."""
    found = _AT.match(words)
    what, path = (found.group("what"), found.group("path") or "") if found else (words, "")
    named = _NAMED.search(what)
    field = ".".join(part for part in (path, named.group("name") if named else "") if part)[:LONGEST_FIELD] or None
    told = what[:LONGEST_REASON]
    return Problem(422, "invalid_payload", f"{field}: {told}" if field else told, field=field)

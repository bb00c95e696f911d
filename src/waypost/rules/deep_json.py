"""JSON that nests deeper than anybody reads: what is too deep becomes a text of itself, and the rest can be read."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from waypost.rules.json_parts import DEEPEST

MOST_BRACKETS: Final = 30_000
"""That open something. A POST of 1000 messages has some five thousand; more is not looked through."""
_NEXT: Final = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+([\[\]{}])', re.DOTALL)
"""Up to the next bracket that is in no text; nothing is ever tried twice."""


def shallow(body: bytes, level: int) -> bytes:
    """With every value below that level that nests deeper than anybody reads written as a text; else as it came.

    Only for what a parser has refused. What is no JSON stays none, and what has too many brackets stays as it is.
    """
    if body.count(b"[") + body.count(b"{") > MOST_BRACKETS:
        return body
    parts: list[bytes] = []
    depth = deepest = begun = copied = position = 0
    while found := _NEXT.match(body, position):
        position = found.end()
        if found[1] in b"[{":
            depth += 1
            if depth == level + 1:
                begun, deepest = position - 1, depth
            deepest = max(deepest, depth)
            continue
        if depth == level + 1 and deepest > DEEPEST:
            parts += [body[copied:begun], msgspec.json.encode(body[begun:position].decode())]
            copied = position
        depth -= 1
    return b"".join([*parts, body[copied:]])

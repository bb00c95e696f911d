"""Too deeply nested JSON: the deep parts become strings, so that the rest can be parsed."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from waypost.rules.text.json_parts import DEEPEST

MOST_BRACKETS: Final = 30_000
"""Opening brackets. A POST of 1000 messages has about five thousand; input with more is not processed."""
_NEXT: Final = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+([\[\]{}])', re.DOTALL)
"""Up to the next bracket outside a string; without backtracking."""


def shallow(body: bytes, level: int) -> bytes:
    """Replace every value at that level that nests too deeply with a string of its JSON.

    Only for input that a parser has refused. Invalid JSON stays invalid; input with too many brackets is unchanged.
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

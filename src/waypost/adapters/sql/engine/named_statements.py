"""Files of named statements: `-- name: what_it_does (mark)` starts one, the comment below it explains it."""

from __future__ import annotations

import re
from typing import NamedTuple


class NamedStatement(NamedTuple):
    text: str
    marked: bool


def split(text: str, mark: str) -> dict[str, NamedStatement]:
    """Each statement by name, and whether its head has the mark."""
    heads = list(re.finditer(rf"^-- name: (\w+)( \({re.escape(mark)}\))?$", text, re.MULTILINE))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found: dict[str, NamedStatement] = {}
    for head, end in zip(heads, ends, strict=True):
        name = head.group(1)
        if name in found:
            raise ValueError(f"statement {name} is defined twice in one file")
        found[name] = NamedStatement(text[head.end() : end].strip(), head.group(2) is not None)
    return found

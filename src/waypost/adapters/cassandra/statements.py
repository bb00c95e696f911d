"""Named statements in .cql files: `-- name: message_put (idempotent)` starts one, the comment below it says why."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import NamedTuple

PACKAGE = "waypost.adapters.cassandra"
_HEAD = re.compile(r"^-- name: (\w+)( \(idempotent\))?$", re.MULTILINE)


class Statement(NamedTuple):
    name: str
    text: str
    idempotent: bool
    """It may be sent again, to another node as well, when nobody knows what became of it."""


def parse(text: str) -> dict[str, Statement]:
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found = {}
    for head, end in zip(heads, ends, strict=True):
        name = head.group(1)
        if name in found:
            raise ValueError(f"statement {name} stands twice in one file")
        found[name] = Statement(name, text[head.end() : end].strip(), head.group(2) is not None)
    return found


def load() -> dict[str, Statement]:
    return parse(files(PACKAGE).joinpath("cql", "log.cql").read_text())

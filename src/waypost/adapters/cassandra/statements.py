"""Named statements in .cql files: `-- name: message_put (idempotent)` starts one, the comment below it says why."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

from waypost.adapters.sql import named

PACKAGE = "waypost.adapters.cassandra"


class Statement(NamedTuple):
    name: str
    text: str
    idempotent: bool
    """It may be sent again, to another node as well, when nobody knows what became of it."""


def parse(text: str) -> dict[str, Statement]:
    return {name: Statement(name, each.text, each.marked) for name, each in named.split(text, "idempotent").items()}


def load() -> dict[str, Statement]:
    return parse(files(PACKAGE).joinpath("cql", "log.cql").read_text())

"""Named statements in .cql files: `-- name: message_put (idempotent)` starts one, the comment below explains it."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

from waypost.adapters.sql.engine import named_statements

PACKAGE = "waypost.adapters.cassandra"


class CqlStatement(NamedTuple):
    name: str
    text: str
    idempotent: bool
    """It may be repeated, also on another node, if its outcome is unknown."""


def parse(text: str) -> dict[str, CqlStatement]:
    return {
        name: CqlStatement(name, each.text, each.marked)
        for name, each in named_statements.split(text, "idempotent").items()
    }


def load() -> dict[str, CqlStatement]:
    return parse(files(PACKAGE).joinpath("cql", "log.cql").read_text())

"""The page docs/reference/statements.md: every SQL statement, and what it reads, writes and locks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from itertools import groupby, takewhile
from typing import NamedTuple

from waypost.adapters.sql.engine.migrations import migrations
from waypost.adapters.sql.engine.statements import SqlStatement, parse

SHARED, POSTGRES, SQLITE = "sql", "postgres", "sqlite"
_INTRODUCTION = """\
Every SQL statement, by file, in the order of the file.
A statement that both databases understand is in `src/waypost/adapters/sql/statements`.
A file of the same name in `adapters/postgres/statements` or `adapters/sqlite/statements` overrides it by name.

- *Locks* are the explicit row locks on PostgreSQL; every statement that writes also locks the rows that it writes.
  On SQLite a transaction that writes holds the whole file.
- *Dialects*: `both` is one text for both databases, `both, PostgreSQL overrides` has a second text for PostgreSQL,
  `each its own` has no shared text, and `PostgreSQL` runs there only.
- *Set-wise* statements take one array per column, so that a batch is one round trip."""
_FROM = re.compile(r"\b(?:FROM|JOIN|USING)\s+(?:ONLY\s+)?(\w+)(?:\s+(?:AS\s+)?(\w+))?", re.IGNORECASE)
_COMMA = re.compile(r",\s*(\w+)\s+(?:AS\s+)?(\w)\b")
_WRITES = re.compile(r"\b(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|DELETE\s+FROM|(?<!DO )(?<!FOR )(?<!KEY )UPDATE)\s+(\w+)")
_LOCK = re.compile(r"\bFOR ((?:NO KEY )?UPDATE|(?:KEY )?SHARE)(?: OF (\w+(?:, \w+)*))?( SKIP LOCKED)?")


class _Described(NamedTuple):
    file: str
    name: str
    texts: dict[str, SqlStatement]
    """By package; at least one."""


def statements_page(made: str) -> str:
    known = tables()
    lines = ["# SQL statements", "", made, "", _INTRODUCTION, ""]
    for file, statements in groupby(_all(), key=lambda statement: statement.file):
        lines += [f"## {file}", "", "| statement | why | reads | writes | locks | dialects |", "| --- " * 6 + "|"]
        lines += [_row(statement, known) for statement in statements]
        lines += [""]
    return "\n".join(lines)


def tables() -> frozenset[str]:
    """Every table that the migrations of either database create."""
    text = "\n".join(m.text for package in (POSTGRES, SQLITE) for m in migrations(f"waypost.adapters.{package}"))
    return frozenset(re.findall(r"CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(\w+)", text))


def _all() -> list[_Described]:
    """By the file of its shared text, or else of the dialect that has it; in the order of that file."""
    found: dict[str, _Described] = {}
    for package in (SHARED, POSTGRES, SQLITE):
        for file, statements in _files(package):
            for name, statement in statements.items():
                found.setdefault(name, _Described(file, name, {})).texts[package] = statement
    return sorted(found.values(), key=lambda described: described.file)


def _files(package: str) -> Iterator[tuple[str, dict[str, SqlStatement]]]:
    folder = files(f"waypost.adapters.{package}").joinpath("statements")
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.name.endswith(".sql"):
            yield entry.name, parse(entry.read_text())


def _row(statement: _Described, known: frozenset[str]) -> str:
    texts = list(statement.texts.values())
    bodies = [_body(text.text) for text in texts]
    reads = {table for body in bodies for table in read_by(body, known)}
    writes = {table for body in bodies for table in written_by(body, known)}
    on_postgres = statement.texts.get(POSTGRES) or statement.texts.get(SHARED)
    locks = locked_by(_body(on_postgres.text), known) if on_postgres else []
    cells = [
        f"`{statement.name}`" + (" (set-wise)" if any(text.set_wise for text in texts) else ""),
        next((why for text in texts if (why := _why(text.text))), ""),
        ", ".join(sorted(reads - writes)),
        ", ".join(sorted(writes)),
        ", ".join(locks),
        _DIALECTS[frozenset(statement.texts)],
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _body(text: str) -> str:
    """Without comments and texts in quotes."""
    return re.sub(r"'[^']*'", "''", re.sub(r"--.*", "", text))


def _why(text: str) -> str:
    comment = takewhile(lambda line: line.startswith("--"), text.splitlines())
    return " ".join(line.removeprefix("--").strip() for line in comment)


def read_by(body: str, known: frozenset[str]) -> set[str]:
    without_deletes = re.sub(r"\bDELETE\s+FROM\s+\w+", "", body)
    named = [found[1] for found in _FROM.finditer(without_deletes)]
    return {name for name in (*named, *(found[1] for found in _COMMA.finditer(without_deletes))) if name in known}


def written_by(body: str, known: frozenset[str]) -> set[str]:
    return {found[1] for found in _WRITES.finditer(body) if found[1] in known}


def locked_by(body: str, known: frozenset[str]) -> list[str]:
    """`table FOR UPDATE SKIP LOCKED`; an alias is looked up, without one it is the table last selected from."""
    locks = []
    for lock in _LOCK.finditer(body):
        before = [found for found in _FROM.finditer(body[: lock.start()]) if found[1] in known]
        aliases = lock[2].split(", ") if lock[2] else [before[-1][1]]
        for alias in aliases:
            table = [found[1] for found in before if alias in (found[1], found[2])][-1]
            locks.append(f"{table} FOR {lock[1]}{lock[3] or ''}")
    return list(dict.fromkeys(locks))


_DIALECTS = {
    frozenset({SHARED}): "both",
    frozenset({SHARED, POSTGRES}): "both, PostgreSQL overrides",
    frozenset({SHARED, SQLITE}): "both, SQLite overrides",
    frozenset({SHARED, POSTGRES, SQLITE}): "both, each overrides",
    frozenset({POSTGRES, SQLITE}): "each its own",
    frozenset({POSTGRES}): "PostgreSQL",
    frozenset({SQLITE}): "SQLite",
}

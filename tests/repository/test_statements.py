"""The SQL files: every statement that the code names exists in both dialects, and both migrations make one schema."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from waypost.adapters import postgres, sql
from waypost.adapters.sql.engine.migrations import migrations
from waypost.adapters.sql.engine.statements import SqlStatement, dialect, load, parse

SOURCE, OF_POSTGRES = Path(sql.__file__).parent, Path(postgres.__file__).parent
CALLS = {
    "each",
    "Each",
    "Once",
    "read",
    "_fetch",
    "_write",
    "placed",
    "_open",
    "_count",
    "_moved",
    "forgotten",
    "_listed",
    "_each",
    "_between",
    "_once",
}
SQLITE, POSTGRES = dialect("waypost.adapters.sqlite"), dialect("waypost.adapters.postgres")
both = pytest.mark.parametrize("known", [SQLITE, POSTGRES], ids=["sqlite", "postgres"])
ELSEWHERE = {"delivery_accept", "wamid_claim"}
"""Of the fast path to accept, for which PostgreSQL has its own statement (`accept_at_once`)."""


def called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def words(node: ast.expr) -> Iterator[str]:
    """The names that an expression may have; an f-string becomes a pattern."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield re.escape(node.value)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(re.escape(str(p.value)) if isinstance(p, ast.Constant) else r"\w+" for p in node.values)
    elif isinstance(node, ast.IfExp):
        yield from words(node.body)
        yield from words(node.orelse)


def named(*functions: str, folder: Path = SOURCE) -> set[str]:
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and called(node.func) in functions and node.args:
                found |= set(words(node.args[0]))
    return found


def placed() -> set[str]:
    """Where `transaction_state` puts a waiting message; `flush` runs these by name."""
    return set(re.findall(r'place = "(\w+)"', (SOURCE / "kernel" / "transaction_state.py").read_text()))


USED = named(*CALLS) | placed()
OWN = named(*CALLS, folder=OF_POSTGRES) - USED
"""Statements that only PostgreSQL has, in addition to the shared ones."""


def test_the_code_was_read() -> None:
    assert {"claim_pick", "wamid_bind", "message_get", "key_insert", "ready_add", r"page_\w+"} <= USED
    assert placed() == {"ready_add", "later_add", "line_add"}


@both
def test_every_statement_that_the_code_names_is_defined(known: dict[str, SqlStatement]) -> None:
    assert [name for name in sorted(USED) if not any(re.fullmatch(name, defined) for defined in known)] == []


def test_what_only_postgres_is_asked_is_defined_there_and_nowhere_else() -> None:
    assert {"accept_at_once", "report_at_once"} <= OWN <= POSTGRES.keys()
    assert SQLITE.keys() == POSTGRES.keys() - OWN


@pytest.mark.parametrize(("known", "used"), [(SQLITE, USED), (POSTGRES, USED | OWN)], ids=["sqlite", "postgres"])
def test_every_statement_is_used(known: dict[str, SqlStatement], used: set[str]) -> None:
    assert [name for name in sorted(known) if not any(re.fullmatch(word, name) for word in used)] == []


def test_what_is_run_for_many_rows_is_set_wise_on_postgres() -> None:
    many = (named("each", "_each", "Each") | named("each", folder=OF_POSTGRES) | placed()) - ELSEWHERE
    assert [name for name in sorted(many) if not POSTGRES[name].set_wise] == []


@both
def test_what_is_run_once_takes_its_arguments_one_by_one(known: dict[str, SqlStatement]) -> None:
    once = named(*CALLS - {"each", "_each", "Each", "placed"}) & known.keys()
    assert once
    assert [name for name in sorted(once) if known[name].set_wise] == []


def test_what_is_set_wise_on_sqlite_takes_its_rows_as_one_json_text() -> None:
    set_wise = [statement for statement in load("waypost.adapters.sqlite").values() if statement.set_wise]
    assert set_wise
    assert all("json_each($1)" in statement.text and "$2" not in statement.text for statement in set_wise)


def test_both_dialects_take_the_same_arguments() -> None:
    def arguments(statement: SqlStatement) -> set[str]:
        return set(re.findall(r"\$\d+", statement.text))

    by_row = {name: statement for name, statement in SQLITE.items() if not statement.set_wise}
    assert {n: arguments(s) for n, s in by_row.items()} == {n: arguments(POSTGRES[n]) for n in by_row}


def test_a_dialect_only_says_better_what_both_understand() -> None:
    """Or in each dialect's own words: a list among the arguments is JSON here, an array there."""
    packages = ("waypost.adapters.sqlite", "waypost.adapters.postgres")
    sqlite, postgres = (load(package).keys() for package in packages)
    shared = load("waypost.adapters.sql").keys() | (sqlite & postgres)
    assert sqlite - OWN <= shared
    assert postgres - OWN <= shared


@both
def test_every_mark_for_columns_was_filled_in(known: dict[str, SqlStatement]) -> None:
    assert [name for name, statement in known.items() if re.search(r"\{[a-z ]+\}", statement.text)] == []


def test_a_name_that_stands_twice_in_a_file_is_refused() -> None:
    with pytest.raises(ValueError, match="claim is defined twice"):
        parse("-- name: claim\nSELECT 1\n\n-- name: claim\nSELECT 2\n")


def test_a_statement_keeps_the_comment_that_explains_it() -> None:
    (statement,) = parse("-- name: claim (set-wise)\n-- why\nSELECT 1\n").values()
    assert (statement.name, statement.text, statement.set_wise) == ("claim", "-- why\nSELECT 1", True)


def schema(package: str) -> dict[str, list[str]]:
    """Table -> its columns in order, then its keys, as all migrations together make them."""
    tables: dict[str, list[str]] = {}
    for migration in migrations(package):
        text = re.sub(r"--.*", "", migration.text)
        for name, body in re.findall(r"CREATE TABLE (\w+) \(\n(.*?)\n\)", text, re.DOTALL):
            tables[name] = [one_line(line) for line in body.splitlines()]
    return tables


TYPES = r"\b(TEXT|INTEGER|BLOB|BIGINT|SMALLINT|BOOLEAN|BYTEA|TSVECTOR|AUTOINCREMENT|GENERATED BY DEFAULT AS IDENTITY)\b"


def one_line(line: str) -> str:
    """A column or key without its type, which differs per database."""
    return " ".join(re.sub(TYPES, "", line.strip().rstrip(","), flags=re.IGNORECASE).split())


def indexes(package: str) -> list[str]:
    text = "\n".join(migration.text for migration in migrations(package))
    found = (" ".join(index.split()) for index in re.findall(r"CREATE (?:UNIQUE )?INDEX [^;]+;", text))
    return sorted(index for index in found if "USING gin" not in index)  # for words, which SQLite has a table of


def test_both_migrations_create_the_same_tables_columns_and_keys() -> None:
    sqlite, postgres = schema("waypost.adapters.sqlite"), schema("waypost.adapters.postgres")
    assert len(sqlite) >= 15
    assert sqlite == postgres


def test_both_migrations_create_the_same_indexes() -> None:
    assert len(indexes("waypost.adapters.sqlite")) >= 14
    assert indexes("waypost.adapters.sqlite") == indexes("waypost.adapters.postgres")


def test_both_count_the_same_migrations() -> None:
    sqlite, postgres = (migrations(f"waypost.adapters.{name}") for name in ("sqlite", "postgres"))
    assert [(m.version, m.name) for m in sqlite] == [(m.version, m.name) for m in postgres]


def test_a_package_without_a_word_of_its_own_has_no_statements() -> None:
    """An empty folder does not survive a clone, so a dialect may have none."""
    assert load("waypost.adapters.local") == {}

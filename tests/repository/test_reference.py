"""The reference pages say what the code says."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from waypost.adapters.sql.engine.statements import dialect
from waypost.runtime.settings.definitions import Settings

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "reference.py"


@pytest.fixture(scope="module")
def pages() -> dict[str, Any]:
    made: dict[str, Any] = runpy.run_path(str(TOOL))["PAGES"]
    return made


def test_the_pages_are_up_to_date() -> None:
    ran = subprocess.run([sys.executable, str(TOOL), "--check"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_setting_is_listed_with_a_meaning(pages: dict[str, Any]) -> None:
    rows = [line.split(" | ") for line in pages["settings.md"]().splitlines() if line.startswith("| `WAYPOST_")]
    assert [row[0] for row in rows] == [f"| `WAYPOST_{name.upper()}`" for name in Settings.__struct_fields__]
    assert all(len(row[2]) > 8 for row in rows)


def test_every_command_and_option_is_explained(pages: dict[str, Any]) -> None:
    rows = [line for line in pages["cli.md"]().splitlines() if line.startswith("| `")]
    assert len(rows) > 40
    assert not [row for row in rows if "|  |" in row.replace("|  |", "| |", row.endswith("|  |"))]


def test_every_statement_of_both_databases_is_listed(pages: dict[str, Any]) -> None:
    rows = [line.split(" | ") for line in pages["statements.md"]().splitlines() if line.startswith("| `")]
    listed = {row[0].removeprefix("| `").partition("`")[0] for row in rows}
    known = {*dialect("waypost.adapters.sqlite"), *dialect("waypost.adapters.postgres")}
    assert listed == known
    assert len(rows) == len(known)


def test_every_statement_says_what_it_is_for(pages: dict[str, Any]) -> None:
    """In a comment below its name, in one of its dialects."""
    rows = [line.split(" | ") for line in pages["statements.md"]().splitlines() if line.startswith("| `")]
    assert [row[0] for row in rows if len(row[1].strip()) < 8] == []


@pytest.mark.parametrize(
    ("statement", "reads", "writes", "locks", "dialects"),
    [
        ("wamid_bind", "", "wamid", "", "both, PostgreSQL overrides"),
        ("delivery_lock", "delivery", "", "delivery FOR UPDATE", "both, each overrides"),
        ("later_due", "later", "", "later FOR UPDATE SKIP LOCKED", "both, PostgreSQL overrides"),
        ("accept_at_once", "", "attempt, delivery, wamid", "", "PostgreSQL"),
    ],
)
def test_a_statement_is_shown_with_its_tables_and_locks(
    statement: str, reads: str, writes: str, locks: str, dialects: str, pages: dict[str, Any]
) -> None:
    (row,) = (line for line in pages["statements.md"]().splitlines() if line.startswith(f"| `{statement}`"))
    assert row.removesuffix(" |").split(" | ")[2:] == [reads, writes, locks, dialects]

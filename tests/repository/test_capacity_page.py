"""The capacity page matches bench/results, and names every table without an org column."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/capacity.md").read_text()
MIGRATIONS = ROOT / "src/waypost/adapters/postgres/migrations"


def capacity(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.capacity", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_tables_are_computed_from_the_results_in_the_tree() -> None:
    ran = capacity("--check")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_an_input_may_be_set_and_a_wrong_one_is_named() -> None:
    assert "there is no input weather" in capacity("--set", "weather=1").stderr


def test_every_table_without_an_org_is_said_to_be_found_somehow() -> None:
    schema = "\n".join(file.read_text() for file in sorted(MIGRATIONS.glob("*.sql")))
    tables = dict(re.findall(r"CREATE TABLE (\w+) \((.*?)\n\)", schema, re.DOTALL))
    for gone in re.findall(r"DROP TABLE (\w+)", schema):
        del tables[gone]
    orphans = {name for name, columns in tables.items() if "org_id" not in columns}
    found = {
        name
        for row in re.findall(r"^\| (`[^|]+) \|", PAGE[PAGE.index("Tables without") :], re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    assert found == orphans
    assert f"{len(orphans)} tables have no column for the org" in PAGE


def test_every_link_of_the_page_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (ROOT / "docs/explanation" / target).exists(), target

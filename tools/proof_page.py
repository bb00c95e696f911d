"""The table of the last `make proof` in docs/explanation/proof.md: each part with the date and commit of its run."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "proof.md"
BEGIN = "<!-- The last proof; `make proof ARGS=--write` writes this table. -->"
END = "<!-- The end of the last proof. -->"
COLUMNS = ("part", "what", "count", "violations", "verdict", "seconds")
STAMP = ("date", "commit")


def write(results: Mapping[str, Sequence[str]], order: Sequence[str]) -> None:
    """The parts that ran; the rows of the others stay as they are."""
    stamp = (f"{datetime.now(UTC):%Y-%m-%d}", _commit())
    PAGE.write_text(with_rows(PAGE.read_text(), {name: (*row, *stamp) for name, row in results.items()}, order))


def with_rows(page: str, results: Mapping[str, Sequence[str]], order: Sequence[str]) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = rows_of(page) | dict(results)
    head = (COLUMNS + STAMP, ("---",) * len(COLUMNS + STAMP))
    table = [_line(row) for row in (*head, *(rows[name] for name in order if name in rows))]
    return "\n".join([f"{before}{BEGIN}", *table, f"{END}{after}"])


def rows_of(page: str) -> dict[str, Sequence[str]]:
    """By part; the first two lines of the table are its head."""
    _, found, rest = page.partition(BEGIN + "\n")
    table, ended, _ = rest.partition(END)
    if not (found and ended):
        raise ValueError(f"{PAGE.name} must have a line {BEGIN} and a line {END}")
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]
    return {row[0]: row for row in rows}


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

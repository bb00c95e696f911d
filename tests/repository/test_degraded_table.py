"""The table of degraded modes names tests that exist, and all of them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "explanation" / "degraded.md"


def test_every_row_is_a_test_and_every_test_a_row() -> None:
    rows = [line for line in TABLE.read_text().splitlines() if line.startswith("| ")][1:]
    named = {found for row in rows for found in re.findall(r"`(test_\w+)(?:\[\w+\])?` \|$", row)}
    files = (ROOT / "tests" / "acceptance" / "outages").glob("test_degraded_*.py")
    there = {
        found for file in files for found in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    assert named == there

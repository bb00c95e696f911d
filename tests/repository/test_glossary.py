"""Every name in the glossary's column *in the code* exists, and no word is defined twice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "waypost"
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (ROOT / "docs" / "reference" / "glossary.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith(("| word", "| ---"))
]


def defined() -> Iterator[str]:
    """Modules, data files, statements, classes, functions and constants."""
    for file in SOURCE.rglob("*.*"):
        yield from (file.stem, file.parent.name)
        if file.suffix == ".sql":
            yield from re.findall(r"^-- name: (\w+)", file.read_text(), re.MULTILINE)
        if file.suffix == ".py":
            yield from _names(ast.parse(file.read_text()))


def _names(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        targets = node.targets if isinstance(node, ast.Assign) else []
        yield from (target.id for target in targets if isinstance(target, ast.Name))
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def test_every_name_of_the_glossary_is_defined() -> None:
    known = set(defined())
    named = {name for row in ROWS for name in re.findall(r"`(\w+)`", row[2])}
    assert len(named) > 60
    assert sorted(named - known) == []


def test_every_word_is_defined_once_with_a_meaning_and_a_name() -> None:
    words = [word for row in ROWS for word in row[0].split(", ")]
    assert sorted(words) == sorted(set(words))
    assert [row for row in ROWS if len(row) != 3 or not row[1] or "`" not in row[2]] == []

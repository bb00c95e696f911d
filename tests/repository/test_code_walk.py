"""Every place that docs/explanation/code-walk.md and CONTRIBUTING.md name exists: the file, and the symbol in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WALK = (ROOT / "docs" / "explanation" / "code-walk.md").read_text()
RECIPES = (ROOT / "CONTRIBUTING.md").read_text()
ELSEWHERE = ("src/", "tests/", "docs/", "bench", "tools/")
MOST = 8
"""Files that a reader opens to see a status webhook applied."""


def anchors(text: str) -> list[str]:
    """`path/file.py` and `path/file.py::symbol`, with a folder in front."""
    return re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|sql|md|csv)(?:::[\w.]+)?)`", text)


def located(path: str) -> Path:
    return ROOT / path if path.startswith(ELSEWHERE) else ROOT / "src" / "waypost" / path


def names(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.Assign):
            yield from ((target.id, node) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node


def is_defined(symbol: str, file: Path) -> bool:
    body = ast.parse(file.read_text()).body
    for part in symbol.split("."):
        found = dict(names(body)).get(part)
        if found is None:
            return False
        body = found.body if isinstance(found, ast.ClassDef) else []
    return True


@pytest.mark.parametrize("anchor", sorted({*anchors(WALK), *anchors(RECIPES)}))
def test_a_place_exists(anchor: str) -> None:
    path, _, symbol = anchor.partition("::")
    assert located(path).is_file(), f"{path} is not there"
    assert not symbol or is_defined(symbol, located(path)), f"{symbol} is not defined in {path}"


def test_the_places_were_read() -> None:
    assert len(anchors(WALK)) > 40
    assert len(anchors(RECIPES)) > 40


def test_a_place_that_is_gone_is_found_out() -> None:
    here = Path(__file__)
    assert is_defined("is_defined", here)
    assert not is_defined("Gone", here)
    assert not is_defined("is_defined.method", here)


def test_every_folder_of_the_recipes_exists() -> None:
    folders = re.findall(r"`((?:src|tests|docs|bench|tools)/[\w/-]+)`", RECIPES)
    assert folders
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []


def test_a_status_webhook_is_followed_through_few_files() -> None:
    (walk,) = re.findall(r"^## Where is a status webhook applied\?$(.*?)^## ", WALK, re.MULTILINE | re.DOTALL)
    steps = re.findall(r"^\d+\. (.*)$", walk, re.MULTILINE)
    assert len({anchor.partition("::")[0] for step in steps for anchor in anchors(step)}) <= MOST

"""The layers are drawn once, in docs/explanation/layers.md, and the drawing is what import-linter holds."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "waypost"
DRAWINGS = re.findall(
    r"^```text\n(┌.*?┘)$", (ROOT / "docs/explanation/layers.md").read_text(), re.MULTILINE | re.DOTALL
)


def drawn(drawing: str) -> list[set[str]]:
    """Layer by layer, top first: the first word of each box."""
    layers = re.split(r"^├.*┤$", drawing, flags=re.MULTILINE)
    return [{box.split()[0] for box in first_line(layer).strip("│").split("│")} for layer in layers]


def first_line(layer: str) -> str:
    return next(line for line in layer.splitlines() if line.startswith("│"))


def held(contract: str, folder: Path) -> list[set[str]]:
    """The layers of a contract, without the packages that are allowed but not there yet."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each["id"] == contract)
    named = [{name.strip(" ()") for name in layer.split("|")} for layer in layers]
    there = {found.parent.name for found in folder.glob("*/__init__.py")}
    return [layer & there for layer in named if layer & there]


def test_the_drawing_of_the_server_is_what_import_linter_holds() -> None:
    assert drawn(DRAWINGS[0]) == held("layers", PACKAGE)


def test_the_drawing_of_the_adapters_is_what_import_linter_holds() -> None:
    assert drawn(DRAWINGS[1]) == held("adapters", PACKAGE / "adapters")


def test_the_steps_in_the_drawing_are_those_of_the_story() -> None:
    story = (PACKAGE / "flow" / "__init__.py").read_text()
    (line,) = (line for line in DRAWINGS[0].splitlines() if "the steps:" in line)
    for step in line.partition("the steps:")[2].strip(" │").split(", "):
        assert f"`{step}`" in story
        assert (PACKAGE / "flow" / f"{step}.py").exists()

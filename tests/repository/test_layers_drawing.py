"""The page docs/explanation/layers.md matches import-linter: the drawing and the order of every container."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/layers.md").read_text()
CONTRACTS: list[dict[str, Any]] = [
    contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    if contract["type"] == "layers"
]
SERVER, *CONTAINERS = CONTRACTS


def drawn() -> list[set[str]]:
    """Layer by layer, top first: the first word of each box."""
    (drawing,) = re.findall(r"^```text\n(┌.*?┘)$", PAGE, re.MULTILINE | re.DOTALL)
    layers = re.split(r"^├.*┤$", drawing, flags=re.MULTILINE)
    return [{box.split()[0] for box in first_line(layer).strip("│").split("│")} for layer in layers]


def first_line(layer: str) -> str:
    return next(line for line in layer.splitlines() if line.startswith("│"))


def names(layer: str) -> set[str]:
    return {name.strip(" ()") for name in layer.split("|")}


def test_the_drawing_shows_the_layers_of_the_server() -> None:
    assert drawn() == [names(layer) for layer in SERVER["layers"]]


@pytest.mark.parametrize("contract", CONTAINERS, ids=lambda contract: contract["id"])
def test_the_page_shows_the_order_of_a_container(contract: dict[str, Any]) -> None:
    (container,) = contract["containers"]
    (block,) = re.findall(rf"^### {re.escape(container)}\n.*?^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert [names(line) for line in block.splitlines()] == [names(layer) for layer in contract["layers"]]


def test_the_page_shows_no_other_container() -> None:
    shown = set(re.findall(r"^### (\S+)$", PAGE, re.MULTILINE))
    assert shown == {contract["containers"][0] for contract in CONTAINERS}


def test_every_contract_is_exhaustive() -> None:
    assert [contract["id"] for contract in CONTRACTS if not contract.get("exhaustive")] == []


def test_no_folder_is_a_hall() -> None:
    """A reader takes in about twenty modules at once."""
    counts = {
        str(folder.relative_to(ROOT)): len(list(folder.glob("*.py")))
        for package in ("waypost", "waypost_testing")
        for folder in (ROOT / "src" / package).rglob("*")
        if folder.is_dir()
    }
    assert {folder: count for folder, count in counts.items() if count > MOST} == ALLOWED


MOST = 22
ALLOWED = {
    "src/waypost/model": 28,  # the nouns of every area: short files, read by name
}

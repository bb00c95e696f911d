"""The docstrings of `flow` list every area and every module, once."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from waypost import flow

FOLDER = Path(flow.__path__[0])
AREAS = sorted(found.parent.name for found in FOLDER.glob("*/__init__.py"))


def listed(package: str) -> list[str]:
    return sorted(re.findall(r"^- `(\w+)`:", importlib.import_module(package).__doc__ or "", re.MULTILINE))


def modules(folder: Path) -> list[str]:
    return sorted(file.stem for file in folder.glob("*.py") if file.stem != "__init__")


def test_the_story_lists_every_area() -> None:
    assert listed("waypost.flow") == AREAS


@pytest.mark.parametrize("area", AREAS)
def test_an_area_lists_its_modules(area: str) -> None:
    assert listed(f"waypost.flow.{area}") == modules(FOLDER / area)


def test_the_story_names_the_modules_beside_the_areas() -> None:
    named = re.findall(r"`(\w+)`", flow.__doc__ or "")
    assert set(modules(FOLDER)) <= set(named)

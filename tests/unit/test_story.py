"""The story in `flow/__init__.py` names every file beside it, once."""

from __future__ import annotations

import re
from pathlib import Path

from waypost import flow


def test_the_story_names_every_module_of_the_flow_once() -> None:
    files = {file.stem for file in Path(flow.__path__[0]).glob("*.py")} - {"__init__"}
    told = re.findall(r"`(\w+)`", flow.__doc__ or "")
    assert sorted(told) == sorted(files)

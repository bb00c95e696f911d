"""What was measured, one small file per part in bench/results/: figures, date, machine, commit."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.table import Line, shown

FOLDER = Path(__file__).parent / "results"
TABLE = "latest.md"


class Measured(NamedTuple):
    part: str
    date: str
    machine: str
    commit: str
    how: str
    """How often and how much, and whatever else a reader of the figures must know."""
    lines: list[Line]


def save(part: str, lines: Sequence[Line], how: str, folder: Path = FOLDER) -> Measured:
    """In place of what was measured of this part before."""
    measured = Measured(part, time.strftime("%Y-%m-%d"), machine(), commit(), how, list(lines))
    folder.mkdir(exist_ok=True)
    content = measured._asdict() | {"lines": [_plain(line) for line in lines]}
    (folder / f"{part}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return measured


def _plain(line: Line) -> dict[str, object]:
    """Four digits are more than a machine repeats."""
    given = {name: value for name, value in line._asdict().items() if value is not None and name != "part"}
    return {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in given.items()}


def read(folder: Path = FOLDER) -> dict[str, Measured]:
    found = (json.loads(file.read_text()) for file in sorted(folder.glob("*.json")))
    made = (Measured(**{**each, "lines": [Line(each["part"], **line) for line in each["lines"]]}) for each in found)
    return {measured.part: measured for measured in made}


def write_table(folder: Path = FOLDER) -> None:
    """All parts in one page, each with when and where it was measured: they need not be of one run."""
    parts = [f"{m.date}, {m.machine}, commit {m.commit}, {m.how}\n\n{shown(m.lines)}\n" for m in read(folder).values()]
    (folder / TABLE).write_text("\n".join(parts))


def machine() -> str:
    return f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def commit() -> str:
    """With a + where files were changed since."""
    try:
        head, changed = _git("rev-parse", "--short=10", "HEAD"), _git("status", "--porcelain", "-uno")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+" if changed else "")


def _git(*words: str) -> str:
    here = Path(__file__).parent
    return subprocess.run(["git", *words], cwd=here, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S607

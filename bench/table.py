"""The table that a benchmark prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple


class Line(NamedTuple):
    part: str
    name: str
    figure: float
    unit: str
    ratio: float | None = None
    against: str | None = None
    goal: float | None = None
    """The ratio to reach (or, without a ratio, the figure not to exceed)."""


def by_core(part: str, cores: Mapping[str, Sequence[float]], unit: str = "requests/s") -> list[Line]:
    """Of our own, what a core of the server does in a second."""
    ours = {name: values for name, values in cores.items() if name.startswith("Waypost")}
    return [Line(part, f"{name}, a server's core", median(values), unit) for name, values in ours.items()]


def shown(lines: list[Line]) -> str:
    head = "| part | what | figure | ratio | against | goal |\n| --- | --- | --- | --- | --- | --- |"
    return "\n".join([head, *map(_row, lines)])


def _row(line: Line) -> str:
    ratio = f"{line.ratio:.2f}" if line.ratio is not None else ""
    figure = f"{line.figure:,.0f}" if line.figure >= 100 else f"{line.figure:.2f}"
    return f"| {line.part} | {line.name} | {figure} {line.unit} | {ratio} | {line.against or ''} | {_goal(line)} |"


def _goal(line: Line) -> str:
    if line.goal is None:
        return ""
    if line.ratio is None:
        return f"≤ {line.goal:g}: {'reached' if line.figure <= line.goal else 'missed'}"
    return f"≥ {line.goal:g}: {'reached' if line.ratio >= line.goal else 'missed'}"

"""What the seeds of each story came to: simulated hours, faults by kind, and checks by invariant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from waypost_testing.stories.verdict import INVARIANTS

HOUR = 3_600_000_000


@dataclass
class StoryTotals:
    """Of one seed of a story, or of many together."""

    figures: Counter[str] = field(default_factory=Counter)
    """`seeds`, `micros` and `storm` (all simulated time, and that with faults), `messages`, `accepted`, `crashes`."""
    faults: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)
    violated: Counter[str] = field(default_factory=Counter)

    def add(self, other: StoryTotals) -> None:
        for each in fields(self):
            getattr(self, each.name).update(getattr(other, each.name))


class ReportTable(NamedTuple):
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]


def tables(totals: Mapping[str, StoryTotals]) -> list[ReportTable]:
    every = StoryTotals()
    for each in totals.values():
        every.add(each)
    shown = {**totals, "all": every} if len(totals) > 1 else totals
    return [
        ReportTable(
            ("story", "seeds", "simulated hours", "with faults", "messages", "accepted", "crashes", "violations"),
            [_story(name, each) for name, each in shown.items()],
        ),
        ReportTable(
            ("faults injected", *shown),
            [(fault, *(f"{each.faults[fault]}" for each in shown.values())) for fault in sorted(every.faults)],
        ),
        ReportTable(
            ("checks made", *shown, "violations", "verdict"),
            [
                (name, *(f"{each.checked[name]}" for each in shown.values()), *_verdict(name, every))
                for name in INVARIANTS
                if name in every.checked or name in every.violated
            ],
        ),
    ]


def _story(name: str, totals: StoryTotals) -> tuple[str, ...]:
    figures = totals.figures
    times = (f"{figures[each] / HOUR:.2f}" for each in ("micros", "storm"))
    counts = (f"{figures[each]}" for each in ("messages", "accepted", "crashes"))
    return name, f"{figures['seeds']}", *times, *counts, f"{totals.violated.total()}"


def _verdict(invariant: str, totals: StoryTotals) -> tuple[str, str]:
    violated = totals.violated[invariant]
    return f"{violated}", "BROKEN" if violated else "holds" if totals.checked[invariant] else "not met"


def show(totals: Mapping[str, StoryTotals], console: Console) -> None:
    for header, rows in tables(totals):
        table = Table(*header, box=None, pad_edge=False, header_style="dim")
        for column in table.columns[1:]:
            column.justify = "right"
        for row in rows:
            table.add_row(*(f"[red]{cell}[/red]" if cell == "BROKEN" else cell for cell in row))
        console.print(table, "")


def markdown(totals: Mapping[str, StoryTotals], introduction: str) -> str:
    parts = ["# Simulation", introduction]
    for header, rows in tables(totals):
        lines = (header, ("---", *("---:" for _ in header[1:])), *rows)
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join(parts) + "\n"

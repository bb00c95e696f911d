"""Twenty billion messages a day, on paper: sizes a fleet of cells from what was measured and from named inputs.

`python -m bench.capacity` writes the tables of docs/explanation/capacity.md; `--check` only says whether they are up to
date; `--print` shows them; `--set peak_factor=4` computes with another input.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import shards
from bench.capacity_figures import DECISIONS, FIGURES, KINDS, Known, look_up
from bench.capacity_inputs import Inputs, changed
from bench.capacity_model import Fleet, plan

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "capacity.md"
BEGIN, END = "<!-- {}: written by python -m bench.capacity -->", "<!-- end of {} -->"


def number(value: float) -> str:
    """Three digits are more than such an estimate has."""
    if value >= 100:
        rounded = float(f"{value:.3g}")
        return f"{rounded:,.0f}"
    return f"{value:.3g}"


def amount(value: float, unit: str) -> str:
    """Bytes in the size that people speak of."""
    if not unit.startswith("bytes"):
        return f"{number(value)} {unit}".strip()
    for name in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if value < 1000 or name == "PB":
            return f"{number(value)} {unit.replace('bytes', name, 1)}"
        value /= 1000
    raise AssertionError


def measured_table(known: dict[str, Known]) -> str:
    plain = [each for each in known.values() if each.figure.part != DECISIONS]
    rows = [f"| {each.figure.title} | {amount(each.value, each.figure.unit)} | {each.source} |" for each in plain]
    return "\n".join(["| figure | value | from |", "| --- | --- | --- |", *rows])


def decisions_table(known: dict[str, Known]) -> str:
    rows = []
    for name in KINDS:
        rate, cpu, wal, disk = (known[f"{name}_{kind}"] for kind in ("rate", "cpu", "wal", "disk"))
        spent = " | ".join(amount(each.value, each.figure.unit) for each in (rate, cpu, wal, disk))
        rows.append(f"| {KINDS[name]} | {spent} | {cpu.source} |")
    head = "| PostgreSQL's part when … | one caller, 2 busy cores | a core | WAL | rows and indexes | from |"
    return "\n".join([head, "| --- | --- | --- | --- | --- | --- |", *rows])


def inputs_table(inputs: Inputs) -> str:
    rows = [f"| `{name}` | {value:,.15g} | {meaning} |" for name, value, meaning in inputs.explained()]
    return "\n".join(["| input | value | what it is |", "| --- | --- | --- |", *rows])


def cell_table(fleet: Fleet) -> str:
    rows = [
        f"| {place} | {limit.name} | {number(limit.per_second)} | {limit.why} |"
        for place, limit in enumerate(fleet.limits, 1)
    ]
    head = "| | what is full | at so many messages a second in one cell | because |\n| --- | --- | --- | --- |"
    return "\n".join([head, *rows])


def fleet_table(fleet: Fleet) -> str:
    rows = [f"| {row.name} | {amount(row.value, row.unit)} | {row.how} |" for row in fleet.rows]
    return "\n".join(["| | | computed as |", "| --- | --- | --- |", *rows])


def cost_table(fleet: Fleet) -> str:
    total = sum(row.value for row in fleet.costs)
    rows = [f"| {row.name} | {number(row.value)} | {row.value / total:.0%} | {row.how} |" for row in fleet.costs]
    rows.append(f"| all | {number(total)} | | {fleet.per_million(total):.3g} USD per million messages |")
    return "\n".join(["| | USD a month | share | computed as |", "| --- | --- | --- | --- |", *rows])


def sections(inputs: Inputs) -> dict[str, str]:
    known = look_up(FIGURES)
    fleet = plan({name: each.value for name, each in known.items()}, inputs)
    return {
        "measured": measured_table(known),
        "decisions": decisions_table(known),
        "inputs": inputs_table(inputs),
        "one cell": cell_table(fleet),
        "the fleet": fleet_table(fleet),
        "cost": cost_table(fleet),
        "shards": shards.table(shards.Crowd(seed=int(inputs.seed))),
    }


def written(page: str, parts: dict[str, str]) -> str:
    """The page with the tables between their markers; a marker that is not there is a mistake of the page."""
    for name, table in parts.items():
        begin, end = BEGIN.format(name), END.format(name)
        before, found, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise SystemExit(f"{PAGE.name} lacks the markers of {name!r}")
        page = f"{before}{begin}\n\n{table}\n\n{end}{after}"
    return page


def update() -> None:
    """Bring the page in step with bench/results."""
    PAGE.write_text(written(PAGE.read_text(), sections(Inputs())))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.capacity", description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="only with --print")
    options = parser.parse_args()
    parts = sections(changed(Inputs(), options.set)) if options.print or options.set or options.check else {}
    if options.print or options.set:
        print("\n\n".join(f"## {name}\n\n{table}" for name, table in parts.items()))
        return 0
    if not options.check:
        update()
        return 0
    behind = written(PAGE.read_text(), parts) != PAGE.read_text()
    if behind:
        print("docs/explanation/capacity.md is behind bench/results: run `python -m bench.capacity`")
    return int(behind)


if __name__ == "__main__":
    sys.exit(main())

"""`waypost simulate`: run seeds, say how each invariant fared, and name the seed that breaks one."""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import structlog
from rich.console import Console
from rich.table import Table

from waypost.runtime.simulation.checkers import INVARIANTS, NO_BUG, Verdict, Violation, check
from waypost.runtime.simulation.cluster import Dress, real
from waypost.runtime.simulation.scenario import Ending, run_seed

ALONE = 8
"""Up to this many seeds one process is as fast as several."""
SHOWN = 10
"""Violations that are printed per seed."""
TAIL = 60
"""Lines of the trace that `--seed` prints."""
HOUR = 3_600_000_000


@dataclass(frozen=True)
class Summary:
    """What is left to say of one seed."""

    verdict: Verdict
    micros: int
    messages: int
    accepted: int
    crashes: int
    faults: Counter[str]
    digest: str

    @property
    def seed(self) -> int:
        return self.verdict.seed


@dataclass
class Tally:
    """All seeds together."""

    seeds: int = 0
    micros: int = 0
    messages: int = 0
    accepted: int = 0
    crashes: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)
    violated: Counter[str] = field(default_factory=Counter)

    def add(self, summary: Summary) -> None:
        self.seeds += 1
        self.micros += summary.micros
        self.messages += summary.messages
        self.accepted += summary.accepted
        self.crashes += summary.crashes
        self.faults.update(summary.faults)
        self.checked.update(summary.verdict.checked)
        self.violated.update(violation.invariant for violation in summary.verdict.violations)


def summary_of(ending: Ending) -> Summary:
    return Summary(
        verdict=check(ending),
        micros=ending.micros,
        messages=len(ending.views),
        accepted=sum(1 for call in ending.calls if call.wamid is not None),
        crashes=ending.crashes,
        faults=Counter(ending.record.faults),
        digest=ending.digest,
    )


def one(seed: int, hours: float = 1.0, dress: Dress = real) -> Summary:
    try:
        return summary_of(quiet(seed, hours, dress))
    except Exception as error:  # noqa: BLE001  # a run that cannot go on is a finding, and the other seeds go on
        stuck = Violation(NO_BUG, "the run itself", f"{type(error).__name__}: {error}")
        return Summary(Verdict(seed, violations=[stuck]), 0, 0, 0, 0, Counter(), "")


def quiet(seed: int, hours: float, dress: Dress = real) -> Ending:
    """Run a seed without the servers' own log: what they warn of is what the storm does to them."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        return run_seed(seed, hours, dress)
    finally:
        structlog.configure(**before)


def run(seeds: int, seed: int | None, hours: float) -> int:
    """The exit code: 0 when every invariant held."""
    console = Console(highlight=False, soft_wrap=True)
    if seed is not None:
        return _show(seed, hours, console)
    began, tally = time.monotonic(), Tally()
    for summary in summaries(range(1, seeds + 1), hours):
        tally.add(summary)
        _report(summary, hours, console)
        _progress(tally, seeds)
    _table(tally, console)
    _figures(tally, time.monotonic() - began, console)
    return 1 if tally.violated else 0


def summaries(seeds: Iterable[int], hours: float) -> Iterator[Summary]:
    """In the order of the seeds, from as many processes as there are cores."""
    wanted = list(seeds)
    work = partial(one, hours=hours)
    if len(wanted) <= ALONE:
        yield from map(work, wanted)
        return
    cores = min(os.cpu_count() or 1, 16)
    with ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(work, wanted, chunksize=4)


def _show(seed: int, hours: float, console: Console) -> int:
    """One seed in detail: the end of its trace, where everything stands, and what is wrong."""
    ending = quiet(seed, hours)
    summary = summary_of(ending)
    for line in ending.lines[-TAIL:]:
        console.print(line, markup=False)
    _report(summary, hours, console)
    tally = Tally()
    tally.add(summary)
    _table(tally, console)
    standing = Counter(view.status for view in ending.views.values())
    console.print("messages: " + ", ".join(f"{count} {status}" for status, count in sorted(standing.items())))
    _figures(tally, None, console)
    console.print(f"seed {seed}, digest {ending.digest}")
    return 1 if summary.verdict.violations else 0


def reproduce(seed: int, hours: float) -> str:
    return f"waypost simulate --seed {seed}" + ("" if hours == 1.0 else f" --hours {hours:g}")


def _report(summary: Summary, hours: float, console: Console) -> None:
    violations = summary.verdict.violations
    if not violations:
        return
    console.print(f"\nseed {summary.seed} breaks {len(violations)} times; again: {reproduce(summary.seed, hours)}")
    for violation in violations[:SHOWN]:
        console.print(f"  {violation.invariant}: {violation.subject}: {violation.seen}", markup=False)
    if len(violations) > SHOWN:
        console.print(f"  and {len(violations) - SHOWN} more")


def _progress(tally: Tally, seeds: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if tally.seeds == seeds else ""
        sys.stderr.write(f"\r{tally.seeds}/{seeds} seeds, {sum(tally.violated.values())} violations{end}")
        sys.stderr.flush()


def _table(tally: Tally, console: Console) -> None:
    table = Table("invariant", "checked", "violations", "verdict", box=None, pad_edge=False, header_style="dim")
    for column in table.columns[1:3]:
        column.justify = "right"
    for invariant in INVARIANTS:
        violated = tally.violated[invariant]
        verdict = "[red]BROKEN[/red]" if violated else "holds" if tally.checked[invariant] else "not met"
        table.add_row(invariant, f"{tally.checked[invariant]}", f"{violated}", verdict)
    console.print(table)


def _figures(tally: Tally, took: float | None, console: Console) -> None:
    faults = ", ".join(f"{count} {name}" for name, count in sorted(tally.faults.items()))
    console.print(
        f"{tally.seeds} seeds, {tally.micros / HOUR:.1f} simulated hours, {tally.messages} messages, "
        f"{tally.accepted} accepted by the provider, {tally.crashes} crashes"
        + (f", in {took:.0f} s" if took is not None else "")
    )
    console.print(f"incidents: {faults}")

"""`waypost simulate`: run seeds, print the verdict on each invariant, and name the seed that breaks one."""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog
from rich.console import Console
from rich.table import Table

from waypost_testing.stories.cluster import CustomiseParts, unchanged_parts
from waypost_testing.stories.following import checkers as follow_checkers
from waypost_testing.stories.following.evidence import FollowEvidence
from waypost_testing.stories.following.scenario import FollowingRun
from waypost_testing.stories.sending import checkers
from waypost_testing.stories.sending.evidence import Evidence
from waypost_testing.stories.sending.scenario import SendingRun
from waypost_testing.stories.story import StoryResult, StoryRun, run_story
from waypost_testing.stories.talking import checkers as turn_checkers
from waypost_testing.stories.talking.evidence import TurnEvidence
from waypost_testing.stories.talking.scenario import TalkingRun
from waypost_testing.stories.verdict import INVARIANTS, NO_BUG, SimulationVerdict, Violation, judge


@dataclass(frozen=True)
class Story:
    run: type[StoryRun[Any]]
    evidence: Callable[[Any], Any]
    checkers: Sequence[tuple[str, Any]]


SENDING, TALKING, FOLLOWING = "sending", "talking", "following"
STORIES: Mapping[str, Story] = {
    SENDING: Story(SendingRun, Evidence, checkers.CHECKERS),
    TALKING: Story(TalkingRun, TurnEvidence, turn_checkers.CHECKERS),
    FOLLOWING: Story(FollowingRun, FollowEvidence, follow_checkers.CHECKERS),
}
"""Callers who send messages and follow them; customers who write and are answered; users who write to each other
and to customers, on devices that come and go. Each has its own world."""

ALONE = 8
"""Up to this many seeds one process is as fast as several."""
SHOWN = 10
"""Violations that are printed per seed."""
TAIL = 60
"""Lines of the trace that `--seed` prints."""
HOUR = 3_600_000_000


@dataclass(frozen=True)
class SeedSummary:
    """The result of one seed."""

    verdict: SimulationVerdict
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
class SeedTotals:
    """All seeds together."""

    seeds: int = 0
    micros: int = 0
    messages: int = 0
    accepted: int = 0
    crashes: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)
    violated: Counter[str] = field(default_factory=Counter)

    def add(self, summary: SeedSummary) -> None:
        self.seeds += 1
        self.micros += summary.micros
        self.messages += summary.messages
        self.accepted += summary.accepted
        self.crashes += summary.crashes
        self.faults.update(summary.faults)
        self.checked.update(summary.verdict.checked)
        self.violated.update(violation.invariant for violation in summary.verdict.violations)


def summary_of(story: str, ending: StoryResult) -> SeedSummary:
    return SeedSummary(
        verdict=judge(ending.seed, STORIES[story].evidence(ending), STORIES[story].checkers),
        micros=ending.micros,
        messages=ending.messages,
        accepted=ending.accepted,
        crashes=ending.crashes,
        faults=Counter(ending.record.faults),
        digest=ending.digest,
    )


def one(
    seed: int,
    hours: float | None = None,
    dress: CustomiseParts = unchanged_parts,
    stories: Iterable[str] = STORIES,
) -> SeedSummary:
    """One seed in every story, as if it were one run."""
    summaries = [_run_story(story, seed, hours, dress) for story in stories]
    verdict = SimulationVerdict(seed)
    for summary in summaries:
        verdict.checked.update(summary.verdict.checked)
        verdict.violations += summary.verdict.violations
    return SeedSummary(
        verdict=verdict,
        micros=sum(summary.micros for summary in summaries),
        messages=sum(summary.messages for summary in summaries),
        accepted=sum(summary.accepted for summary in summaries),
        crashes=sum(summary.crashes for summary in summaries),
        faults=sum((summary.faults for summary in summaries), Counter()),
        digest="-".join(summary.digest for summary in summaries),
    )


def _run_story(story: str, seed: int, hours: float | None, dress: CustomiseParts) -> SeedSummary:
    try:
        return summary_of(story, quiet(story, seed, hours, dress))
    except Exception as error:  # noqa: BLE001  # a run that cannot go on is a finding, and the other seeds go on
        stuck = Violation(NO_BUG, "the run itself", f"{story}: {type(error).__name__}: {error}")
        return SeedSummary(SimulationVerdict(seed, violations=[stuck]), 0, 0, 0, 0, Counter(), "")


def quiet(story: str, seed: int, hours: float | None, dress: CustomiseParts = unchanged_parts) -> StoryResult:
    """Run a seed without the servers' own log: their warnings are effects of the storm."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        result: StoryResult = run_story(STORIES[story].run, seed, hours, dress)
        return result
    finally:
        structlog.configure(**before)


def run(seeds: int, seed: int | None, hours: float | None = None, story: str | None = None) -> int:
    """The exit code: 0 when every invariant held."""
    console = Console(highlight=False, soft_wrap=True)
    stories = tuple(STORIES) if story is None else (story,)
    if seed is not None:
        return max(_show(each, seed, hours, console) for each in stories)
    began, tally = time.monotonic(), SeedTotals()
    for summary in summaries(range(1, seeds + 1), hours, stories):
        tally.add(summary)
        _report(summary, hours, console)
        _progress(tally, seeds)
    _table(tally, console, stories)
    _figures(tally, time.monotonic() - began, console)
    return 1 if tally.violated else 0


def summaries(seeds: Iterable[int], hours: float | None, stories: Iterable[str] = STORIES) -> Iterator[SeedSummary]:
    """In the order of the seeds, from as many processes as there are cores."""
    wanted = list(seeds)
    work = partial(one, hours=hours, stories=tuple(stories))
    if len(wanted) <= ALONE:
        yield from map(work, wanted)
        return
    cores = min(os.cpu_count() or 1, 16)
    with ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(work, wanted, chunksize=4)


def _show(story: str, seed: int, hours: float | None, console: Console) -> int:
    """One story of a seed in detail: the end of its trace, the final states, and the violations."""
    ending = quiet(story, seed, hours)
    summary = summary_of(story, ending)
    for line in ending.lines[-TAIL:]:
        console.print(line, markup=False)
    _report(summary, hours, console)
    tally = SeedTotals()
    tally.add(summary)
    _table(tally, console, (story,))
    console.print("messages: " + ", ".join(f"{count} {status}" for status, count in sorted(ending.standing.items())))
    _figures(tally, None, console)
    console.print(f"seed {seed}, {story}, digest {ending.digest}")
    return 1 if summary.verdict.violations else 0


def reproduce(seed: int, hours: float | None) -> str:
    return f"waypost simulate --seed {seed}" + ("" if hours is None else f" --hours {hours:g}")


def _report(summary: SeedSummary, hours: float | None, console: Console) -> None:
    violations = summary.verdict.violations
    if not violations:
        return
    console.print(
        f"\nseed {summary.seed} has {len(violations)} violations; reproduce: {reproduce(summary.seed, hours)}"
    )
    for violation in violations[:SHOWN]:
        console.print(f"  {violation.invariant}: {violation.subject}: {violation.seen}", markup=False)
    if len(violations) > SHOWN:
        console.print(f"  and {len(violations) - SHOWN} more")


def _progress(tally: SeedTotals, seeds: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if tally.seeds == seeds else ""
        sys.stderr.write(f"\r{tally.seeds}/{seeds} seeds, {sum(tally.violated.values())} violations{end}")
        sys.stderr.flush()


def _table(tally: SeedTotals, console: Console, stories: Iterable[str]) -> None:
    table = Table("invariant", "checked", "violations", "verdict", box=None, pad_edge=False, header_style="dim")
    for column in table.columns[1:3]:
        column.justify = "right"
    wanted = {invariant for story in stories for invariant, _ in STORIES[story].checkers}
    for invariant in (each for each in INVARIANTS if each in wanted):
        violated = tally.violated[invariant]
        verdict = "[red]BROKEN[/red]" if violated else "holds" if tally.checked[invariant] else "not met"
        table.add_row(invariant, f"{tally.checked[invariant]}", f"{violated}", verdict)
    console.print(table)


def _figures(tally: SeedTotals, took: float | None, console: Console) -> None:
    faults = ", ".join(f"{count} {name}" for name, count in sorted(tally.faults.items()))
    console.print(
        f"{tally.seeds} seeds, {tally.micros / HOUR:.2f} simulated hours, {tally.messages} messages, "
        f"{tally.accepted} accepted by the provider, {tally.crashes} crashes"
        + (f", in {took:.0f} s" if took is not None else "")
    )
    console.print(f"incidents: {faults}")

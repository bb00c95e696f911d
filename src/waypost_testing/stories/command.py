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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from rich.console import Console

from waypost import __version__
from waypost_testing.stories.cluster import CustomiseParts, unchanged_parts
from waypost_testing.stories.following import checkers as follow_checkers
from waypost_testing.stories.following.evidence import FollowEvidence
from waypost_testing.stories.following.scenario import FollowingRun
from waypost_testing.stories.report import HOUR, StoryTotals, markdown, show
from waypost_testing.stories.sending import checkers
from waypost_testing.stories.sending.evidence import Evidence
from waypost_testing.stories.sending.scenario import SendingRun
from waypost_testing.stories.story import StoryResult, StoryRun, run_story
from waypost_testing.stories.talking import checkers as turn_checkers
from waypost_testing.stories.talking.evidence import TurnEvidence
from waypost_testing.stories.talking.scenario import TalkingRun
from waypost_testing.stories.verdict import NO_BUG, SimulationVerdict, Violation, judge


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


@dataclass(frozen=True)
class SeedSummary:
    """The result of one seed, in one story or in several."""

    verdict: SimulationVerdict
    totals: dict[str, StoryTotals]
    """By story."""
    digest: str

    @property
    def seed(self) -> int:
        return self.verdict.seed


def summary_of(story: str, ending: StoryResult, hours: float | None = None) -> SeedSummary:
    chosen = STORIES[story]
    verdict = judge(ending.seed, chosen.evidence(ending), chosen.checkers)
    storm = round((chosen.run.storm_hours if hours is None else hours) * HOUR)
    figures = Counter(
        seeds=1,
        micros=ending.micros,
        storm=storm,
        messages=ending.messages,
        accepted=ending.accepted,
        crashes=ending.crashes,
    )
    checked = Counter({invariant: verdict.checked[invariant] for invariant, _ in chosen.checkers})
    return _summary(story, verdict, StoryTotals(figures, ending.faults, checked), ending.digest)


def _summary(story: str, verdict: SimulationVerdict, totals: StoryTotals, digest: str) -> SeedSummary:
    totals.violated.update(violation.invariant for violation in verdict.violations)
    return SeedSummary(verdict, {story: totals}, digest)


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
    totals = {story: each for summary in summaries for story, each in summary.totals.items()}
    return SeedSummary(verdict, totals, "-".join(summary.digest for summary in summaries))


def _run_story(story: str, seed: int, hours: float | None, dress: CustomiseParts) -> SeedSummary:
    try:
        return summary_of(story, quiet(story, seed, hours, dress), hours)
    except Exception as error:  # noqa: BLE001  # a run that cannot go on is a finding, and the other seeds go on
        stuck = Violation(NO_BUG, "the run itself", f"{story}: {type(error).__name__}: {error}")
        return _summary(story, SimulationVerdict(seed, violations=[stuck]), StoryTotals(Counter(seeds=1)), "")


def quiet(story: str, seed: int, hours: float | None, dress: CustomiseParts = unchanged_parts) -> StoryResult:
    """Run a seed without the servers' own log: their warnings are effects of the storm."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        result: StoryResult = run_story(STORIES[story].run, seed, hours, dress)
        return result
    finally:
        structlog.configure(**before)


def run(
    seeds: int,
    seed: int | None,
    hours: float | None = None,
    stories: Sequence[str] | None = None,
    summary: Path | None = None,
) -> int:
    """The exit code: 0 when every invariant held."""
    console = Console(highlight=False, soft_wrap=True)
    wanted = tuple(stories or STORIES)
    if seed is not None:
        return max(_show(each, seed, hours, console) for each in wanted)
    began, totals = time.monotonic(), {story: StoryTotals() for story in wanted}
    for number, each in enumerate(summaries(range(1, seeds + 1), hours, wanted), 1):
        for story, found in each.totals.items():
            totals[story].add(found)
        _report(each, hours, console)
        _progress(number, seeds, totals)
    show(totals, console)
    line = f"{seeds} {'seed' if seeds == 1 else 'seeds'} per story in {time.monotonic() - began:.0f} s"
    console.print(line)
    if summary is not None:
        summary.write_text(markdown(totals, f"{line}, by `{_command(seeds, hours, wanted)}` of Waypost {__version__}."))
    return 1 if any(each.violated for each in totals.values()) else 0


def _command(seeds: int, hours: float | None, stories: Sequence[str]) -> str:
    only = "" if len(stories) == len(STORIES) else "".join(f" --story {story}" for story in stories)
    return f"waypost simulate --seeds {seeds}" + only + _hours(hours)


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
    summary = summary_of(story, ending, hours)
    for line in ending.lines[-TAIL:]:
        console.print(line, markup=False)
    _report(summary, hours, console)
    show(summary.totals, console)
    console.print("messages: " + ", ".join(f"{count} {status}" for status, count in sorted(ending.standing.items())))
    console.print(f"seed {seed}, {story}, digest {ending.digest}")
    return 1 if summary.verdict.violations else 0


def reproduce(seed: int, hours: float | None) -> str:
    return f"waypost simulate --seed {seed}" + _hours(hours)


def _hours(hours: float | None) -> str:
    return "" if hours is None else f" --hours {hours:g}"


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


def _progress(done: int, seeds: int, totals: Mapping[str, StoryTotals]) -> None:
    if sys.stderr.isatty():
        violations = sum(each.violated.total() for each in totals.values())
        sys.stderr.write(f"\r{done}/{seeds} seeds, {violations} violations" + ("\n" if done == seeds else ""))
        sys.stderr.flush()

"""The proof: many seeds, every invariant, the same run every time."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from waypost.model.time import minutes
from waypost_testing.simulation import Simulation, run_simulation
from waypost_testing.stories import command
from waypost_testing.stories.command import (
    FOLLOWING,
    SENDING,
    STORIES,
    TALKING,
    one,
    reproduce,
    summaries,
)
from waypost_testing.stories.record import SimulationRecord
from waypost_testing.stories.report import StoryTotals, tables
from waypost_testing.stories.sending.trouble import FaultInjector, Incidents
from waypost_testing.stories.verdict import FLOOR, INVARIANTS, ORDER

SEEDS = {SENDING: 16, TALKING: 16, FOLLOWING: 8}
"""Of each story; `waypost simulate --seeds 500` runs them all."""
TOGETHER = {SENDING: 16, TALKING: 16, FOLLOWING: 8}
"""Half a minute each, about."""
RUNS = [(story, first) for story in STORIES for first in range(1, SEEDS[story] + 1, TOGETHER[story])]
FOUND_BY_SIMULATION = {
    5: "a pace drawn by a clock that was ahead kept the number waiting long after the clock was right",
    24: "a disabled number and a hold shared one row: enabling it released the hold, releasing it enabled the number",
    27: "a message in line, due by a clock that was ahead, waited for the slower clock of whoever promoted it",
    85: "an unmatched status, heard by a clock that was behind, did not keep its try from being sent again",
    8: "a throttle was judged by the clock of a process, which was hours wrong",
    10: "the window was judged by the clock of a process, which was hours wrong",
    13: "a throttle of the number was judged by the clock of a process, which was hours wrong",
    290: "a message that failed, was retried and expired before its next try was to be FAILED still, by the checker",
}
"""Each showed a bug that is mended now; contracts/sending/queues.py, unit/adapters/test_other_clocks.py and
test_door.py, among others, pin them down."""
FOUND_IN_CONVERSATIONS = {
    2: "processes whose clocks were hours wrong left a customer without an answer",
    4: "as above: the bot was asked, and its answer never came",
    1: "a Ledger that was away when the bot was to be told what was written ended the worker's turn with an error",
    116: "an answer and the message that superseded it shared a commit, and the answer was sent all the same",
    163: "the beginning of a burst of 57 lines, of which a bot answers 50 and is told the rest before, was called lost",
}


@pytest.mark.parametrize(("story", "first"), RUNS)
def test_every_invariant_holds_for_every_seed(story: str, first: int) -> None:
    tally, together = StoryTotals(), TOGETHER[story]
    broken = []
    for summary in summaries(range(first, first + together), hours=None, stories=(story,)):
        tally.add(summary.totals[story])
        broken += [f"{reproduce(summary.seed, None)}  # {violation}" for violation in summary.verdict.violations]
    assert not broken, "\n".join(broken[:20])
    assert tally.figures["seeds"] == together
    for invariant, _ in STORIES[story].checkers:
        assert tally.checked[invariant] >= together, f"{invariant} was hardly met"


@pytest.mark.parametrize("seed", FOUND_BY_SIMULATION)
def test_a_seed_that_found_a_bug_holds_now(seed: int) -> None:
    assert one(seed, stories=(SENDING,)).verdict.violations == [], FOUND_BY_SIMULATION[seed]


@pytest.mark.parametrize("seed", FOUND_IN_CONVERSATIONS)
def test_a_conversation_that_found_a_bug_holds_now(seed: int) -> None:
    assert one(seed, stories=(TALKING,)).verdict.violations == [], FOUND_IN_CONVERSATIONS[seed]


def test_the_same_seed_is_the_same_run_byte_for_byte() -> None:
    first, second = (_digests(hash_seed) for hash_seed in ("1", "4242"))
    assert first == second
    assert len(set(first.splitlines())) == 2


def _digests(hash_seed: str) -> str:
    program = Path(__file__).with_name("digest_of_seeds.py")
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    ran = subprocess.run(
        [sys.executable, str(program), "1", "2"], env=environment, capture_output=True, text=True, check=True
    )
    return ran.stdout


def test_the_command_says_how_each_invariant_fared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    summary = tmp_path / "simulation.md"
    assert command.run(seeds=2, seed=None, hours=0.02, summary=summary) == 0
    shown, written = capsys.readouterr().out, summary.read_text()
    for invariant in INVARIANTS:
        assert invariant in shown
        assert f"| {invariant} |" in written
    for story in STORIES:
        assert re.search(rf"\| {story} \| 2 \| 0\.[0-9]+ \| 0\.04 \|", written), "its hours, and those with faults"
    assert "2 seeds" in shown
    assert "| story | seeds | simulated hours | with faults |" in written
    assert "by `waypost simulate --seeds 2 --hours 0.02` of Waypost" in written


def test_faults_and_checks_are_summed_by_kind_and_story() -> None:
    half_an_hour = Counter(seeds=1, micros=1_800_000_000, storm=900_000_000)
    a_seed = StoryTotals(half_an_hour, Counter(crash=2), Counter({ORDER: 5}))
    another = StoryTotals(half_an_hour, Counter(crash=1, pause=4), Counter({ORDER: 0, FLOOR: 0}))
    another.violated[ORDER] += 1
    stories, faults, checks = tables({SENDING: a_seed, TALKING: another})
    assert [row[:4] for row in stories.rows] == [
        (SENDING, "1", "0.50", "0.25"),
        (TALKING, "1", "0.50", "0.25"),
        ("all", "2", "1.00", "0.50"),
    ]
    assert faults.rows == [("crash", "2", "1", "3"), ("pause", "0", "4", "4")]
    assert checks.rows == [(ORDER, "5", "0", "5", "1", "BROKEN"), (FLOOR, "0", "0", "0", "0", "not met")]


def test_a_new_incident_is_counted_by_its_name() -> None:
    class WithVolcanoes(FaultInjector):
        def incidents(self) -> Incidents:
            return ((1, self._volcano_erupts),)

        async def _volcano_erupts(self) -> None: ...

    async def main(sim: Simulation) -> Counter[str]:
        record, nothing = SimulationRecord(now=lambda: sim.loop.micros), cast("Any", None)
        await WithVolcanoes(sim, nothing, nothing, record).run_incidents(minutes(5), 10)
        return record.faults

    faults = run_simulation(1, main)
    assert set(faults) == {"volcano erupts"}
    assert faults["volcano erupts"] > 5


def test_one_seed_shows_the_end_of_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(seeds=1, seed=5, hours=0.02) == 0
    shown = capsys.readouterr().out
    assert "final org='south'" in shown
    assert "seed 5, sending, digest" in shown
    assert "seed 5, talking, digest" in shown
    assert "seed 5, following, digest" in shown


def test_a_violating_seed_is_printed_with_its_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.simulation.mutations import a_submit_that_is_acknowledged_and_not_stored as mutation  # noqa: PLC0415

    broken = one(4, dress=mutation(monkeypatch), stories=(SENDING,))
    monkeypatch.setattr(command, "summaries", lambda seeds, hours, stories: iter([broken]))
    assert command.run(seeds=1, seed=None) == 1
    shown = capsys.readouterr().out
    assert "waypost simulate --seed 4" in shown
    assert "no loss" in shown
    assert "BROKEN" in shown

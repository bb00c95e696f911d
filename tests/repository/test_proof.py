"""`make proof` claims only what it ran."""

from __future__ import annotations

import pytest

from tools.proof import FOOTPRINTS, Part, skipped_footprints


@pytest.mark.parametrize(
    ("ran", "skipped"),
    [
        (["sqlite", "stack"], []),
        (["stack", "sqlite", "sqlite", "postgres"], []),
        (["sqlite"], ["stack"]),
        (["postgres"], ["sqlite", "stack"]),
        ([], ["sqlite", "stack"]),
    ],
)
def test_a_footprint_on_which_nothing_was_recorded_is_skipped(ran: list[str], skipped: list[str]) -> None:
    assert skipped_footprints([{"footprint": each} for each in ran], FOOTPRINTS) == skipped


def test_a_part_that_skipped_a_footprint_does_not_hold() -> None:
    part = Part("storms", "", skipped=["stack"])
    assert part.verdict == "incomplete: stack skipped"
    assert not part.is_good(may_skip=False)
    assert part.is_good(may_skip=True)


@pytest.mark.parametrize("part", [Part("a", "", violations=1), Part("a", "", trouble="too few")])
def test_a_broken_part_is_never_good(part: Part) -> None:
    assert part.verdict in ("broken", "too few")
    assert not part.is_good(may_skip=True)


def test_a_part_that_ran_everywhere_holds() -> None:
    part = Part("storms", "")
    assert part.verdict == "holds"
    assert part.is_good(may_skip=False)

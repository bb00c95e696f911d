"""`make proof` claims only what it ran."""

from __future__ import annotations

import re

import pytest

from tools import proof_page
from tools.proof import FOOTPRINTS, PARTS, SHORT, WHOLE, Part, skipped_footprints


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


def test_the_page_shows_the_last_proof_with_date_and_commit() -> None:
    rows = proof_page.rows_of(proof_page.PAGE.read_text())
    assert rows
    assert list(rows) == [name for name in PARTS if name in rows]
    for name, row in rows.items():
        assert len(row) == len(proof_page.COLUMNS + proof_page.STAMP), name
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", row[-2]), name
        assert re.fullmatch(r"[0-9a-f]{7,}", row[-1]), f"{name}: a proof belongs to a commit"


def test_a_part_that_ran_alone_replaces_its_own_row() -> None:
    page = f"above\n{proof_page.BEGIN}\n| part |\n| --- |\n| seeds | old |\n| fuzz | old |\n{proof_page.END}\nbelow"
    written = proof_page.with_rows(page, {"fuzz": ("fuzz", "new"), "storms": ("storms", "new")}, list(PARTS))
    assert list(proof_page.rows_of(written).values()) == [["storms", "new"], ["seeds", "old"], ["fuzz", "new"]]
    assert (written.startswith("above\n"), written.endswith("\nbelow")) == (True, True)


def test_every_part_has_a_limit_and_says_what_it_does() -> None:
    for size in (WHOLE, SHORT):
        assert set(size.limits) == set(PARTS)
    assert WHOLE.strikes >= 200
    assert WHOLE.fuzzed >= 50_000
    assert WHOLE.seeds >= 500
    assert WHOLE.soak_sec >= 1800

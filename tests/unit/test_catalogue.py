"""The two catalogues of error codes: every row is read, and means what it says."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files

import pytest

from waypost.rules.catalogue import Action, Catalogue, parse


def catalogue(name: str) -> Catalogue:
    return parse(name, files("waypost.rules").joinpath("data", f"{name}_error_codes.csv").read_text())


META, SEED = catalogue("meta"), catalogue("seed")


@pytest.mark.parametrize(("known", "rows"), [(META, 131), (SEED, 47)], ids=["meta", "seed"])
def test_every_row_is_read(known: Catalogue, rows: int) -> None:
    assert len(known.codes) + len(known.ranges) == rows


@pytest.mark.parametrize("known", [META, SEED], ids=["meta", "seed"])
def test_every_row_has_a_code_and_a_title(known: Catalogue) -> None:
    for row in [*known.codes.values(), *(row for _, _, row in known.ranges)]:
        assert row.title.strip()
        assert row.code.replace("-", "").isdecimal()


def test_the_seed_retries_sixteen_codes() -> None:
    assert Counter(row.action for row in SEED.codes.values()) == {Action.RETRY: 16, Action.FAIL: 31}


@pytest.mark.parametrize(
    ("code", "action"),
    [
        ("131026", Action.FAIL),
        ("131000", Action.RETRY),
        ("130429", Action.RETRY),
        ("131056", Action.RETRY),
        ("190", Action.FAIL),
        ("0", Action.FAIL),
    ],
)
def test_meta_codes_lead_to_what_meta_documents(code: str, action: Action) -> None:
    assert META.action(code) is action


def test_the_same_code_may_mean_another_thing_in_each() -> None:
    assert (META.action("0"), SEED.action("0")) == (Action.FAIL, Action.RETRY)


@pytest.mark.parametrize(
    ("code", "title"),
    [("201", "API Permission"), ("299", "API Permission"), ("200", "API Permission (200: no token sent)")],
)
def test_a_range_stands_for_its_codes_unless_one_has_its_own_row(code: str, title: str) -> None:
    found = META.find(code)
    assert found is not None
    assert found.title == title


@pytest.mark.parametrize("code", ["300", "199", "-1", "", "CONNECTION_REFUSED", "2 00", "٢٠١", "2" * 5_000])
def test_an_unknown_code_is_worth_another_try(code: str) -> None:
    assert META.find(code) is None
    assert META.action(code) is Action.RETRY

"""The two catalogues of error codes: every row is read, with its meaning."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.model.time import Span, days, hours, minutes, seconds
from waypost.rules.limits.error_catalogue import (
    LONGEST_WISH,
    USUAL_WAIT,
    ErrorAction,
    ErrorCatalogue,
    ErrorCode,
    ErrorScope,
    parse,
    wait_for,
)


def catalogue(name: str) -> ErrorCatalogue:
    return parse(name, files("waypost.rules.limits").joinpath("data", f"{name}_error_codes.csv").read_text())


META, SEED = catalogue("meta"), catalogue("seed")
BOTH = pytest.mark.parametrize("known", [META, SEED], ids=["meta", "seed"])

META_DECIDED: dict[tuple[str, str | None], str] = {
    ("retry", None): "1 2 131000 131016 132069 133004 134101 138004 139102 139103",
    ("wait", "pair"): "613 131056 138003 138013",
    ("wait", "number"): "130429 131048 131057 131208 133008 133009 133015 133016 138002 138005 2494100",
    ("wait", "account"): "80007 131064",
    ("wait", "app"): "4",
    ("hold", "number"): "0 190 131037 131045 133010",
    ("hold", "account"): "3 10 200-299 368 131005 131031 131042 131044",
    ("hold", "template"): "132015",
    ("fail", None): """
        33 100 200 130403 130472 130497 131008 131009 131020 131021 131026 131030 131041 131047 131049 131050 131051
        131052 131053 131055 131059 131060 131062 131063 131201 131202 131204 131207 131209 131210 131211 131212 131213
        131214 131215 132000 132001 132005 132007 132008 132012 132016 132018 132068 133000 133005 133006 134011 134100
        134102 135000 137000 138000 138001 138006 138007 138009 138012 138018 139000 139001 139002 139003 139004 139100
        139101 147001 147002 147003 147004 147005 200005 200006 200007 1752041 2388012 2388019 2388039 2388040 2388047
        2388072 2388073 2388091 2388093 2388103 2388293 2388299 2593107 2593108""",
}
SEED_DECIDED: dict[tuple[str, str | None], str] = {
    ("retry", None): "0 1 4 190 368 471 131005 131016 131026 132000 132001 132005",
    ("wait", "number"): "130 132069",
    ("wait", "account"): "3 80007",
    ("fail", None): """
        2 5 100 200 470 131000 131008 131009 131021 131031 131042 131045 131047 131051 131052 131053 132007 132012
        132015 132016 132068 133000 133004 133005 133006 133008 133009 133010 133015 133016 135000""",
}


@pytest.mark.parametrize(("known", "decided"), [(META, META_DECIDED), (SEED, SEED_DECIDED)], ids=["meta", "seed"])
def test_every_code_has_the_action_and_the_scope_that_were_decided_for_it(
    known: ErrorCatalogue, decided: dict[tuple[str, str | None], str]
) -> None:
    expected = {code: what for what, codes in decided.items() for code in codes.split()}
    assert {row.code: (row.action.value, row.scope and row.scope.value) for row in known.rows()} == expected


@pytest.mark.parametrize(
    ("known", "counts"),
    [
        (META, {ErrorAction.RETRY: 10, ErrorAction.WAIT: 18, ErrorAction.HOLD: 14, ErrorAction.FAIL: 89}),
        (SEED, {ErrorAction.RETRY: 12, ErrorAction.WAIT: 4, ErrorAction.FAIL: 31}),
    ],
    ids=["meta, 131", "seed, 47"],
)
def test_so_many_rows_have_each_action(known: ErrorCatalogue, counts: dict[ErrorAction, int]) -> None:
    assert Counter(row.action for row in known.rows()) == counts
    assert len(known.codes) + len(known.ranges) == sum(counts.values())


@BOTH
def test_every_row_has_a_code_and_a_title(known: ErrorCatalogue) -> None:
    for row in known.rows():
        assert row.title.strip()
        assert row.code.replace("-", "").isdecimal()


@BOTH
def test_rows_come_by_number(known: ErrorCatalogue) -> None:
    numbers = [int(row.code.partition("-")[0]) for row in known.rows()]
    assert numbers == sorted(numbers)


def test_the_seed_retries_sixteen_codes_four_of_them_rate_limits() -> None:
    assert sum(row.retryable for row in SEED.rows()) == 16
    assert [row.code for row in SEED.rows() if row.rate_limit] == ["3", "130", "80007", "132069"]


def test_the_seeds_immediate_failures_fail_at_once() -> None:
    listed = "131047 131051 131052 131053 133000 133004 133005 133006 133008 470 131031"
    assert {SEED.action(code) for code in listed.split()} == {ErrorAction.FAIL}


def test_the_same_code_may_mean_another_thing_in_each() -> None:
    assert (META.action("0"), SEED.action("0")) == (ErrorAction.HOLD, ErrorAction.RETRY)


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
    assert META.action(code) is ErrorAction.RETRY


@pytest.mark.parametrize("cells", ["wait,,1,2,3", "wait,template,1,2,3", "hold,pair,,,", "fail,number,,,", "hold,,,,"])
def test_an_action_with_a_scope_that_it_cannot_have_is_refused(cells: str) -> None:
    with pytest.raises(ValueError, match="code 7"):
        parse("odd", f"code,title,action,scope,first,growth,longest,meaning\n7,Odd,{cells},\n")


# Waits

LIMITS = [row for known in (META, SEED) for row in known.rows() if row.action is ErrorAction.WAIT]
limits = st.sampled_from(LIMITS)
times = st.integers(-1, 10**9)


def found(code: str) -> ErrorCode:
    row = META.find(code)
    assert row is not None
    return row


@pytest.mark.parametrize(
    ("code", "waits"),
    [
        ("130429", [1, 2, 4, 8, 16, 32, 60, 60]),
        ("131056", [1, 4, 16, 64, 256, 1024, 3600, 3600]),
        ("4", [60, 120, 240, 480, 960, 1920, 3600, 3600]),
        ("80007", [60, 120, 240, 480, 960, 1920, 3600, 3600]),
        ("131057", [60, 60, 60]),
        ("131048", [3600, 7200, 14_400, 28_800, 57_600, 86_400]),
        ("131064", [86_400, 86_400]),
        ("133015", [300, 300]),
        ("2494100", [180, 360, 720, 900]),
    ],
)
def test_a_wait_grows_as_its_row_says(code: str, waits: list[int]) -> None:
    assert [wait_for(found(code).wait, n, None) for n in range(1, len(waits) + 1)] == [seconds(wait) for wait in waits]


@pytest.mark.parametrize("row", LIMITS, ids=lambda row: row.code)
def test_every_wait_has_figures_that_make_sense(row: ErrorCode) -> None:
    assert row.wait is not None
    assert seconds(1) <= row.wait.first <= row.wait.longest <= days(1)
    assert row.wait.growth >= 1


@given(limits, times)
def test_a_wait_is_never_shorter_than_the_one_before_and_stays_within_its_bounds(row: ErrorCode, n: int) -> None:
    assert row.wait is not None
    before, after = wait_for(row.wait, n, None), wait_for(row.wait, n + 1, None)
    assert row.wait.first <= before <= after <= row.wait.longest


@given(limits, times, st.floats(min_value=0.001, allow_infinity=True))
def test_what_the_provider_asks_for_wins_up_to_a_day(row: ErrorCode, n: int, asked: float) -> None:
    waited = wait_for(row.wait, n, asked)
    assert waited == (seconds(asked) if asked <= 86_400 else LONGEST_WISH)


@given(limits, times, st.sampled_from([0.0, -1.0, float("nan"), float("-inf"), None]))
def test_no_time_is_no_wish(row: ErrorCode, n: int, asked: float | None) -> None:
    assert wait_for(row.wait, n, asked) == wait_for(row.wait, n, None) > 0


def test_a_row_without_figures_waits_as_usual() -> None:
    bare = ErrorCode(code="7", title="Slow", action=ErrorAction.WAIT, scope=ErrorScope.NUMBER, meaning="")
    assert wait_for(bare.wait, 1, None) == minutes(1) == USUAL_WAIT.first
    assert wait_for(bare.wait, 99, None) == Span(hours(1))

"""Whether and when a try is followed by another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from waypost.model.ids import Wamid
from waypost.model.message import Claimed
from waypost.model.outcome import Accepted, Outcome, Rejected, Unreached, Unsure
from waypost.model.time import Instant, Span, days, hours, minutes, seconds
from waypost.rules.catalogue import Catalogue, parse
from waypost.rules.delivery import Accept, GiveUp, StayUnsure, TryAgain
from waypost.rules.retry import UNREACHED, Backoff, judge
from waypost.testing.contracts.examples import T0, a_claim

CATALOGUE: Catalogue = parse(
    "test",
    """code,title,action,scope,first,growth,longest,meaning
131000,Oops,retry,,,,,
131026,Undeliverable,fail,,,,,
130429,Too fast,wait,number,1,2,60,
190,Token expired,hold,number,,,,
""",
)
STEADY = Backoff(jitter=0)
REFUSED = Unreached("connection refused")


def rejected(code: str, retry_after: float | None = None) -> Rejected:
    return Rejected(code=code, message="no", details=None, trace=None, retry_after=retry_after, response="{}")


def judged(outcome: Outcome, *, tries: int = 1, limit: int = 5, backoff: Backoff = STEADY, dice: float = 0) -> object:
    message: Claimed = replace(a_claim(), tries=tries, max_attempts=limit)
    return judge(outcome, message, CATALOGUE, backoff, T0, dice)


def test_six_tries_at_0_1_6_21_81_and_441_minutes() -> None:
    now, tried_at, tries = T0, [], 0
    while True:
        tries += 1
        tried_at.append((now - T0) // minutes(1))
        verdict = judge(REFUSED, replace(a_claim(), tries=tries, max_attempts=5), CATALOGUE, STEADY, now, 0.99)
        if isinstance(verdict, GiveUp):
            break
        assert isinstance(verdict, TryAgain)
        now = verdict.at
    assert tried_at == [0, 1, 6, 21, 81, 441]


@pytest.mark.parametrize(("limit", "tries"), [(0, 1), (1, 2), (5, 6), (10, 11)])
def test_the_limit_counts_the_retries_after_the_first_try(limit: int, tries: int) -> None:
    assert isinstance(judged(REFUSED, tries=tries, limit=limit), GiveUp)
    if limit:
        assert isinstance(judged(REFUSED, tries=tries - 1, limit=limit), TryAgain)


def test_the_last_wait_repeats() -> None:
    assert [STEADY.after(tries, 0) for tries in (5, 6, 10)] == [hours(6)] * 3


@given(st.integers(1, 20), st.floats(0, 1, exclude_max=True), st.floats(0, 1))
def test_jitter_goes_upwards_only_and_no_further_than_its_share(tries: int, dice: float, jitter: float) -> None:
    steady = STEADY.after(tries, dice)
    assert steady <= Backoff(jitter=jitter).after(tries, dice) <= round(steady * (1 + jitter))


def test_jitter_is_ten_percent_at_most_unless_said_otherwise() -> None:
    assert Backoff().after(1, 0) == minutes(1)
    assert Backoff().after(1, 0.5) == seconds(63)
    assert Backoff().after(1, 0.999_999) <= seconds(66)


def test_acceptance_is_kept_with_its_response() -> None:
    assert judged(Accepted(Wamid("wamid.A"), "{}")) == Accept(Wamid("wamid.A"), "{}")


@pytest.mark.parametrize("tries", [1, 99])
def test_unsure_is_never_a_retry(tries: int) -> None:
    assert judged(Unsure("timeout", "<html>"), tries=tries) == StayUnsure("timeout", "<html>")


def test_a_refused_connection_is_a_failed_try() -> None:
    expected = TryAgain(Instant(T0 + minutes(1)), UNREACHED, "connection refused", None)
    assert judged(REFUSED) == expected
    assert expected.counts


@pytest.mark.parametrize("code", ["131000", "999999", "not a code"])
def test_a_code_that_is_retryable_or_unknown_is_tried_again(code: str) -> None:
    assert judged(rejected(code)) == TryAgain(Instant(T0 + minutes(1)), code, "no", "{}")


@pytest.mark.parametrize("code", ["131026", "190"])
def test_a_hopeless_code_ends_the_message_at_once(code: str) -> None:
    assert judged(rejected(code)) == GiveUp(code, "no", "{}")


@pytest.mark.parametrize(("tries", "asked", "wait"), [(1, None, 1), (3, None, 4), (3, 30.0, 30), (1, 90.0, 90)])
def test_a_rate_limit_is_tried_again_after_its_own_wait(tries: int, asked: float | None, wait: float) -> None:
    again = TryAgain(Instant(T0 + seconds(wait)), "130429", "no", "{}")
    assert judged(rejected("130429", retry_after=asked), tries=tries) == again


@pytest.mark.parametrize(
    ("asked", "wait"),
    [
        (None, minutes(1)),
        (0.0, minutes(1)),
        (30.0, minutes(1)),
        (90.0, seconds(90)),
        (1e6, days(1)),
        (float("inf"), days(1)),
    ],
)
def test_a_provider_may_ask_for_more_time_but_not_for_ever(asked: float | None, wait: Span) -> None:
    verdict = judged(rejected("131000", retry_after=asked))
    assert isinstance(verdict, TryAgain)
    assert verdict.at == T0 + wait

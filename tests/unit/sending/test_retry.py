"""Whether and when an attempt is followed by another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from waypost.model.gate import GateId, GateKind
from waypost.model.ids import Wamid
from waypost.model.message import ClaimedMessage
from waypost.model.outcome import Accepted, Outcome, ProviderRejected, Unreached, Unsure
from waypost.model.time import Instant, Span, days, hours, minutes, seconds
from waypost.rules.limits.error_catalogue import ErrorCatalogue, parse
from waypost.rules.limits.gates import closed
from waypost.rules.sending.delivery import Accept, GiveUp, StandBack, StayUnsure, TryAgain
from waypost.rules.sending.retry import UNREACHED, Backoff, judge
from waypost_testing.contracts.examples import CUSTOMER, NUMBER, T0, a_claim

CATALOGUE: ErrorCatalogue = parse(
    "test",
    """code,title,action,scope,first,growth,longest,meaning
131000,Oops,retry,,,,,
131026,Undeliverable,fail,,,,,
130429,Too fast,wait,number,1,2,60,
131056,Too fast for one,wait,pair,1,4,3600,
80007,Too much,wait,account,60,2,3600,
4,Far too much,wait,app,60,2,3600,
190,Token expired,hold,number,,,,
132015,Template paused,hold,template,,,,
""",
)
STEADY = Backoff(jitter=0)
REFUSED = Unreached("connection refused")
WABA = "2001"


def rejected(code: str, retry_after: float | None = None) -> ProviderRejected:
    return ProviderRejected(code=code, message="no", details=None, trace=None, retry_after=retry_after, response="{}")


def judged(outcome: Outcome, *, tries: int = 1, limit: int = 5, template: str | None = None) -> object:
    message: ClaimedMessage = replace(a_claim(), tries=tries, max_attempts=limit, template=template)
    return judge(outcome, message, WABA, CATALOGUE, STEADY, T0, 0)


def test_six_tries_at_0_1_6_21_81_and_441_minutes() -> None:
    now, tried_at, tries = T0, [], 0
    while True:
        tries += 1
        tried_at.append((now - T0) // minutes(1))
        message = replace(a_claim(), tries=tries, max_attempts=5)
        verdict = judge(REFUSED, message, WABA, CATALOGUE, STEADY, now, 0.99)
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


@pytest.mark.parametrize("tries", [1, 6, 99])
def test_a_hopeless_code_ends_the_message_at_once(tries: int) -> None:
    assert judged(rejected("131026"), tries=tries) == GiveUp("131026", "no", "{}")


@pytest.mark.parametrize(
    ("code", "kind", "gate"),
    [
        ("130429", GateKind.THROTTLE, f"number:{NUMBER}"),
        ("131056", GateKind.THROTTLE, f"pair:{NUMBER}/{CUSTOMER}"),
        ("80007", GateKind.THROTTLE, "account:2001"),
        ("4", GateKind.THROTTLE, "org:acme"),
        ("190", GateKind.HOLD, f"number:{NUMBER}"),
        ("132015", GateKind.HOLD, "template:2001/hello"),
    ],
)
@pytest.mark.parametrize("tries", [1, 6, 99])
def test_what_concerns_a_whole_scope_closes_its_gate_and_ends_no_message(
    code: str, kind: GateKind, gate: str, tries: int
) -> None:
    verdict = judged(rejected(code), tries=tries, template="hello")
    assert isinstance(verdict, StandBack)
    assert (verdict.code, verdict.message, verdict.response) == (code, "no", "{}")
    assert (verdict.closing.name, verdict.closing.kind, verdict.closing.org_id) == (gate, kind, "acme")
    assert (verdict.closing.pair is not None) == gate.startswith("pair:")


@pytest.mark.parametrize(("times", "asked", "wait"), [(1, None, 1), (3, None, 4), (3, 30.0, 30), (1, 90.0, 90)])
def test_a_rate_limit_keeps_its_gate_closed_for_its_own_wait(times: int, asked: float | None, wait: float) -> None:
    verdict = judged(rejected("130429", retry_after=asked))
    assert isinstance(verdict, StandBack)
    gate, began, now = None, T0, T0
    for _ in range(times):  # each time as soon as it had opened
        gate = closed(gate, verdict.closing, now)
        assert gate.until is not None
        began, now = now, gate.until
    assert now - began == seconds(wait)


def test_a_hold_stays_closed_until_somebody_opens_it() -> None:
    verdict = judged(rejected("190", retry_after=30.0))
    assert isinstance(verdict, StandBack)
    assert closed(None, verdict.closing, T0).until is None


def test_a_template_code_that_a_freeform_message_meets_stops_its_number() -> None:
    verdict = judged(rejected("132015"))
    assert isinstance(verdict, StandBack)
    assert verdict.closing.name == f"number:{NUMBER}"


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


@pytest.mark.parametrize("outcome", [REFUSED, rejected("131000")])
@pytest.mark.parametrize("tries", [1, 6])
def test_a_probe_that_finds_the_provider_still_away_costs_its_message_nothing(outcome: Outcome, tries: int) -> None:
    probe = replace(a_claim(), tries=tries, max_attempts=5, probe=GateId(1))
    verdict = judge(outcome, probe, WABA, CATALOGUE, STEADY, T0, 0)
    assert isinstance(verdict, TryAgain)
    assert (verdict.at, verdict.counts) == (T0 + minutes(1), False)


def test_a_probe_that_is_refused_for_its_own_sake_is_judged_as_any_other() -> None:
    probe = replace(a_claim(), tries=6, max_attempts=5, probe=GateId(1))
    assert isinstance(judge(rejected("131026"), probe, WABA, CATALOGUE, STEADY, T0, 0), GiveUp)
    assert isinstance(judge(Unsure("no answer", None), probe, WABA, CATALOGUE, STEADY, T0, 0), StayUnsure)

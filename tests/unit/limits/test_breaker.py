"""The breaker opens on the rate of the provider's own failures, never on faults of a message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.model.gate import GateKind
from waypost.model.ids import Wamid
from waypost.model.outcome import Accepted, Outcome, ProviderRejected, Unreached, Unsure
from waypost.model.time import Instant, Span
from waypost.rules.limits import breaker
from waypost.rules.limits.breaker import FEWEST, RATE, WATCHED, RecentAttempts
from waypost.rules.limits.gates import of_org
from waypost_testing.contracts.examples import ORG, T0


def rejected(code: str) -> ProviderRejected:
    return ProviderRejected(code=code, message="no", details=None, trace=None, retry_after=None, response="{}")


OUTCOMES: list[tuple[Outcome, bool]] = [
    (Accepted(Wamid("w"), "{}"), False),
    (Unreached("refused"), True),
    (Unsure("timeout", None), True),
    (rejected("131000"), True),
    (rejected("131016"), True),
    (rejected("2"), True),
    (rejected("131026"), False),  # a customer's bad number
    (rejected("131047"), False),
    (rejected("100"), False),
    (rejected("190"), False),  # has its own gate
    (rejected("80007"), False),
]


@pytest.mark.parametrize(("outcome", "failed"), OUTCOMES)
def test_only_the_provider_s_own_troubles_speak_against_it(outcome: Outcome, failed: bool) -> None:
    assert breaker.is_failure(outcome) is failed


def opened(tries: list[tuple[int, bool]]) -> list[bool]:
    record, now, answers = RecentAttempts(), T0, []
    for gap, failed in tries:
        now = Instant(now + gap)
        answers.append(record.add(failed, now))
    return answers


TRIES = st.lists(st.tuples(st.integers(0, int(WATCHED) // 5), st.booleans()), max_size=60)


@given(TRIES)
def test_it_opens_exactly_when_half_of_enough_recent_tries_failed(tries: list[tuple[int, bool]]) -> None:
    now, seen = T0, []
    for (gap, failed), answer in zip(tries, opened(tries), strict=True):
        now = Instant(now + gap)
        seen.append((now, failed))
        recent = [bad for at, bad in seen if at >= now - WATCHED]
        assert answer == (failed and len(recent) >= FEWEST and sum(recent) >= RATE * len(recent))


def test_a_few_failures_are_no_reason() -> None:
    assert not any(opened([(0, True)] * (FEWEST - 1)))
    assert opened([(0, True)] * FEWEST)[-1]


def test_failures_of_long_ago_are_forgotten() -> None:
    apart = Span(int(WATCHED) // (FEWEST - 2))
    assert not any(opened([(apart, True)] * 100))


def test_a_cleared_record_begins_anew() -> None:
    record = RecentAttempts()
    assert [record.add(True, T0) for _ in range(FEWEST)][-1]
    record.clear()
    assert not any(record.add(True, T0) for _ in range(FEWEST - 1))


def test_it_closes_the_org_s_gate_and_says_why() -> None:
    closing = breaker.closing(ORG, of_org(ORG))
    assert (closing.name, closing.kind, closing.org_id) == (f"org:{ORG}", GateKind.BREAKER, ORG)
    assert closing.code == "PROVIDER_FAILING"
    assert "50%" in closing.reason

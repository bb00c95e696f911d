"""Gates: which scope a code closes, for how long, and that closing only ever extends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from waypost.model.gate import Gate, GateBackoff, GateClosing, GateKind, GateName
from waypost.model.recipient_state import RecipientState
from waypost.model.time import Instant, Span, days, hours, minutes, seconds
from waypost.rules.limits import gates
from waypost.rules.limits.error_catalogue import ErrorAction, ErrorCode, ErrorScope, wait_for
from waypost.rules.limits.gates import FORGIVEN_AFTER, NUMBER_DISABLED, PROBE_AFTER, GateScope
from waypost_testing.contracts.examples import CUSTOMER, NUMBER, ORG, T0, later

WAIT = GateBackoff(minutes(1), 2.0, minutes(10))
PLACE = GateScope(org_id=ORG, number=NUMBER, waba_id="3", recipient=CUSTOMER, template="hello")
PAIR = RecipientState(sender=NUMBER, recipient=CUSTOMER)


def a_closing(kind: GateKind = GateKind.THROTTLE, **fields: Any) -> GateClosing:
    standard: dict[str, Any] = {"org_id": ORG, "name": GateName(f"number:{NUMBER}"), "code": "80007", "reason": "slow"}
    return GateClosing(kind=kind, **(standard | {"wait": WAIT} | fields))


def closed(*steps: tuple[int, GateClosing]) -> Gate:
    """The gate after several closings, each this long after the one before."""
    gate, now = None, T0
    for gap, closing in steps:
        now = Instant(now + gap)
        gate = gates.closed(gate, closing, now)
    assert gate is not None
    return gate


KINDS = st.sampled_from(GateKind)
CLOSINGS = st.builds(
    a_closing, st.just(GateKind.THROTTLE), retry_after=st.one_of(st.none(), st.floats(0, 1e6, allow_nan=False))
)
STEPS = st.lists(st.tuples(st.integers(0, int(hours(2))), CLOSINGS), min_size=1, max_size=12)


@given(STEPS)
def test_closing_again_prolongs_and_never_shortens(steps: list[tuple[int, GateClosing]]) -> None:
    gate: Gate | None = None
    now = T0
    for gap, closing in steps:
        now = Instant(now + gap)
        before, gate = gate, gates.closed(gate, closing, now)
        assert gate.until is not None
        assert gate.until > now, "closed is closed"
        if before is not None and before.until is not None:
            assert gate.until >= before.until
        assert now + wait_for(closing.wait, 1, closing.retry_after) <= gate.until


@given(STEPS)
def test_a_gate_that_is_closed_keeps_its_beginning(steps: list[tuple[int, GateClosing]]) -> None:
    gate: Gate | None = None
    now = T0
    for gap, closing in steps:
        now = Instant(now + gap)
        before, gate = gate, gates.closed(gate, closing, now)
        still = before is not None and gates.is_closed(before, now)
        assert gate.since == (before.since if still and before else now)


def test_each_time_in_a_row_it_stays_closed_for_longer_up_to_the_longest() -> None:
    gate, now, waits = None, T0, []
    for _ in range(6):
        gate = gates.closed(gate, a_closing(), now)
        assert gate.until is not None
        waits.append((gate.until - now) // minutes(1))
        now = gate.until
    assert waits == [1, 2, 4, 8, 10, 10]


def test_what_was_under_way_when_it_closed_does_not_make_it_grow() -> None:
    """A hundred attempts in the same second are one refusal, not a hundred in a row."""
    gate = closed((0, a_closing()), *[(1, a_closing())] * 100)
    assert gate.times == 1
    assert gate.until == T0 + 100 + minutes(1)


def test_a_gate_that_stayed_open_for_long_begins_with_its_shortest_wait() -> None:
    grown = closed((0, a_closing()), (minutes(1), a_closing()))
    assert (grown.times, grown.until) == (2, later(minutes(3)))
    just = Instant(later(minutes(3)) + FORGIVEN_AFTER)
    assert gates.closed(grown, a_closing(), just).times == 3
    assert gates.closed(grown, a_closing(), Instant(just + 1)).times == 1


@given(st.floats(0.001, 1e12), st.integers(1, 100))
def test_what_the_provider_asks_for_wins_within_a_day(retry_after: float, times: int) -> None:
    assert wait_for(WAIT, times, retry_after) == min(days(1), seconds(min(retry_after, 1e9)))


@pytest.mark.parametrize("retry_after", [None, 0, -1.0, 1e-9, float("nan")])
def test_no_time_is_no_answer(retry_after: float | None) -> None:
    assert wait_for(WAIT, 1, retry_after) == minutes(1)
    assert wait_for(None, 1, retry_after) > 0


@given(st.integers(0, int(days(400))))
def test_a_hold_has_no_end(gap: int) -> None:
    hold = closed((0, a_closing(GateKind.HOLD)), (gap, a_closing(GateKind.HOLD, retry_after=1)))
    assert hold.until is None
    assert gates.is_closed(hold, Instant(T0 + gap + days(4000)))


def test_a_disabled_number_stays_disabled_whatever_else_is_found_out() -> None:
    """A late attempt's invalid token must not replace the code that the number's owner set."""
    disabled = closed((0, a_closing(GateKind.HOLD, code=NUMBER_DISABLED)))
    assert gates.closed(disabled, a_closing(GateKind.HOLD, code="190"), later(seconds(1))) == disabled


def test_a_breaker_is_closed_until_its_probe_and_then_wants_one() -> None:
    breaker = closed((0, a_closing(GateKind.BREAKER)))
    assert breaker.until == T0 + PROBE_AFTER
    assert not gates.wants_probe(breaker, Instant(T0 + PROBE_AFTER - 1))
    assert gates.wants_probe(breaker, Instant(T0 + PROBE_AFTER))
    assert not gates.wants_probe(closed((0, a_closing())), later(days(1))), "a throttle opens by itself"


def test_a_throttle_is_open_when_its_time_comes() -> None:
    gate = closed((0, a_closing()))
    assert gates.is_closed(gate, Instant(T0 + minutes(1) - 1))
    assert not gates.is_closed(gate, later(minutes(1)))


@given(STEPS)
def test_a_customer_is_left_alone_for_longer_never_for_less(steps: list[tuple[int, GateClosing]]) -> None:
    pair, now = PAIR, T0
    for gap, closing in steps:
        now = Instant(now + gap)
        before, pair = pair, gates.block(pair, closing, now)
        assert pair.blocked_until >= max(before.blocked_until, now)


def test_a_customer_s_wait_grows_each_time_and_is_forgiven() -> None:
    once = gates.block(PAIR, a_closing(), T0)
    under_way = gates.block(once, a_closing(), later(seconds(1)))
    assert (once.blocked_times, under_way.blocked_times) == (1, 1)
    again = gates.block(once, a_closing(), once.blocked_until)
    assert (again.blocked_times, again.blocked_until) == (2, later(minutes(3)))
    much_later = Instant(again.blocked_until + FORGIVEN_AFTER + 1)
    assert gates.block(again, a_closing(), much_later).blocked_times == 1


SCOPES = [
    (ErrorScope.PAIR, f"pair:{NUMBER}/{CUSTOMER}", (NUMBER, CUSTOMER)),
    (ErrorScope.NUMBER, f"number:{NUMBER}", None),
    (ErrorScope.ACCOUNT, "account:3", None),
    (ErrorScope.APP, f"org:{ORG}", None),
    (ErrorScope.TEMPLATE, "template:3/hello", None),
    (None, f"number:{NUMBER}", None),
]


@pytest.mark.parametrize(("scope", "name", "pair"), SCOPES)
def test_a_code_closes_the_gate_of_its_scope(scope: ErrorScope | None, name: str, pair: object) -> None:
    row = ErrorCode(code="1", title="", action=ErrorAction.WAIT, meaning="", scope=scope, wait=WAIT)
    closing = gates.closing(row, PLACE, "slow", 5.0)
    assert (closing.name, closing.pair, closing.kind) == (name, pair, GateKind.THROTTLE)
    assert (closing.org_id, closing.code, closing.wait, closing.retry_after) == (ORG, "1", WAIT, 5.0)


def test_a_hold_on_a_template_that_a_freeform_message_met_is_the_number_s() -> None:
    row = ErrorCode(code="1", title="", action=ErrorAction.HOLD, meaning="", scope=ErrorScope.TEMPLATE)
    closing = gates.closing(row, replace(PLACE, template=None), "paused", None)
    assert (closing.name, closing.kind) == (f"number:{NUMBER}", GateKind.HOLD)


@given(st.integers(0, 10**6), st.floats(1, 100), st.integers(0, 10**9), st.integers(0, 10**12))
def test_a_wait_only_grows_and_never_beyond_its_longest(times: int, growth: float, first: int, longest: int) -> None:
    wait = GateBackoff(Span(first), growth, Span(longest))
    assert 0 <= wait.after(times) <= wait.after(times + 1) <= longest

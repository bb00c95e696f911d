"""The 24-hour window and the pace between one of our numbers and one customer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from waypost.model.recipient_state import RecipientState
from waypost.model.time import Instant, days, hours, minutes
from waypost.rules.limits import recipient_pace as pairs
from waypost.rules.limits import window
from waypost.rules.limits.recipient_pace import BURST, STEP
from waypost_testing.contracts.examples import CUSTOMER, NUMBER, T0, later

PAIR = RecipientState(sender=NUMBER, recipient=CUSTOMER)
MOMENTS = st.lists(st.integers(0, int(days(5))).map(lambda span: Instant(T0 + span)), min_size=1, max_size=10)


def written(*moments: Instant) -> RecipientState:
    pair = PAIR
    for moment in moments:
        pair = window.record_inbound(pair, moment)
    return pair


def test_a_window_is_open_for_24_hours_and_closed_exactly_then() -> None:
    expires_at = written(T0).expires_at
    assert expires_at == later(days(1))
    assert window.is_open(expires_at, T0)
    assert window.is_open(expires_at, Instant(T0 + days(1) - 1))
    assert not window.is_open(expires_at, later(days(1)))
    assert not window.is_open(None, T0)


@given(st.data(), MOMENTS)
def test_the_order_in_which_messages_arrive_does_not_matter(data: st.DataObject, moments: list[Instant]) -> None:
    shuffled = written(*data.draw(st.permutations(moments)))
    assert (shuffled.last_inbound_at, shuffled.expires_at) == (max(moments), max(moments) + days(1))


@given(st.tuples(st.integers(0, int(days(3))), st.integers(0, int(days(3)))))
def test_of_two_messages_either_order_tells_when_the_window_opened(spans: tuple[int, int]) -> None:
    first, second = (Instant(T0 + span) for span in spans)
    assert written(first, second) == written(second, first)


def test_a_message_exactly_24_hours_later_opens_a_new_window() -> None:
    for pair in (written(T0, later(days(1))), written(later(days(1)), T0)):
        assert pair.opened_at == later(days(1))


@given(MOMENTS)
def test_a_window_is_prolonged_and_never_shortened(moments: list[Instant]) -> None:
    pair = PAIR
    for moment in moments:
        before, pair = pair, window.record_inbound(pair, moment)
        assert pair.expires_at is not None
        assert pair.expires_at >= max(moment + days(1), before.expires_at or 0)


@given(MOMENTS)
def test_the_window_opened_before_the_last_message_and_reached_it(moments: list[Instant]) -> None:
    pair = written(*moments)
    assert pair.opened_at in moments
    assert pair.opened_at is not None
    assert pair.last_inbound_at is not None
    assert pair.opened_at <= pair.last_inbound_at


def test_a_duplicate_changes_nothing() -> None:
    pair = written(T0, later(hours(1)))
    assert window.record_inbound(pair, T0) is pair
    assert window.record_inbound(pair, later(hours(1))) is pair


@given(st.lists(st.integers(0, int(minutes(1))), max_size=200))
def test_a_customer_gets_a_burst_and_then_one_message_in_six_seconds(gaps: list[int]) -> None:
    pair, now, sent = PAIR, T0, []
    for gap in gaps:
        now = Instant(now + gap)
        if pairs.blocked_until(pair, now) is None:
            pair = pairs.record_send(pair, now)
            sent.append(now)
    for n, first in enumerate(sent):
        for m, last in enumerate(sent[n:], 1):
            assert m <= BURST + (last - first) // STEP


def test_after_a_burst_the_next_may_go_when_it_says() -> None:
    pair = PAIR
    for _ in range(BURST):
        assert pairs.blocked_until(pair, T0) is None
        pair = pairs.record_send(pair, T0)
    until = pairs.blocked_until(pair, T0)
    assert until == T0 + STEP
    assert pairs.blocked_until(pair, Instant(until - 1)) == until
    assert pairs.blocked_until(pair, until) is None


def test_a_blocked_customer_waits_for_the_block_to_end() -> None:
    pair = RecipientState(sender=NUMBER, recipient=CUSTOMER, blocked_until=later(minutes(5)))
    assert pairs.blocked_until(pair, T0) == later(minutes(5))
    assert pairs.blocked_until(pair, later(minutes(5))) is None

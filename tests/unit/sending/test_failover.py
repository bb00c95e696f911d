"""What may be sent from another number, and what may not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.model.ids import MessageId
from waypost.model.message import Channel
from waypost.model.time import Instant
from waypost.rules.sending.failover import FailoverCandidate, may_move

NOW = Instant(1_000)
moments = st.none() | st.integers(0, 2_000).map(Instant)


def waiting(**fields: Any) -> FailoverCandidate:
    standard: dict[str, Any] = {
        "id": MessageId(1),
        "channel": Channel.WHATSAPP,
        "ordered": False,
        "template": None,
        "payload": '{"text":"hello"}',
        "doubtful": False,
        "moved": False,
        "window_until": Instant(NOW + 1),
        "blocked_until": None,
    }
    return FailoverCandidate(**(standard | fields))


def test_a_message_that_provably_never_left_may_move() -> None:
    assert may_move(waiting(), NOW, enforce_window=True)


@given(
    st.builds(
        waiting,
        channel=st.sampled_from(Channel),
        ordered=st.booleans(),
        doubtful=st.booleans(),
        moved=st.booleans(),
        template=st.none() | st.just("order"),
        window_until=moments,
        blocked_until=moments,
    ),
    st.booleans(),
)
def test_nothing_moves_that_could_arrive_twice_or_fare_worse(message: FailoverCandidate, enforce: bool) -> None:
    if may_move(message, NOW, enforce_window=enforce):
        assert (message.doubtful, message.ordered, message.moved) == (False, False, False)
        assert message.channel is Channel.WHATSAPP
        assert message.blocked_until is None or message.blocked_until <= NOW
        if enforce and message.template is None:
            assert message.window_until is not None
            assert message.window_until > NOW


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_whatever_was_stored_can_be_judged(payload: Any) -> None:
    may_move(waiting(payload=msgspec.json.encode(payload).decode()), NOW, enforce_window=False)


@pytest.mark.parametrize(("until", "moves"), [(NOW - 1, False), (NOW, False), (NOW + 1, True), (None, False)])
def test_the_other_numbers_window_is_open_until_its_last_moment(until: int | None, moves: bool) -> None:
    window = None if until is None else Instant(until)
    assert may_move(waiting(window_until=window), NOW, enforce_window=True) is moves
    assert may_move(waiting(window_until=window, template="order"), NOW, enforce_window=True)

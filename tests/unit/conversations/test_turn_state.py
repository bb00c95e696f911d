"""The turn state: every transition as a table, and a state machine test for stuck customers and second answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from waypost.model.conversation import BOT, ConversationId, Position, TurnState, TurnTiming
from waypost.model.ids import Fence, OrgId, WorkerId
from waypost.model.time import Instant, minutes, seconds
from waypost.rules.conversations import turn_state as rules
from waypost.rules.conversations.turn_state import LeaseLost, MergePoint, TurnGivenUp, TurnRetried

T0 = Instant(1_760_000_000_000_000)
TIMES = TurnTiming()
SUPERSEDING = TurnTiming(supersede=True)
W1, W2 = WorkerId("w1"), WorkerId("w2")
IDLE = TurnState(conversation_id=ConversationId(1), org_id=OrgId("acme"))


def at(count: float) -> Instant:
    return Instant(T0 + seconds(count))


def a_lane(**fields: Any) -> TurnState:
    return replace(IDLE, **fields)


WAITING = a_lane(tail=2, first_at=T0, due_at=at(3))
HELD = a_lane(tail=2, hi=2, fence=1, owner=W1, claimed_at=at(3), lease_until=at(9))
BUFFERED = replace(HELD, tail=3, first_at=at(4), due_at=at(7))
POSTPONED = a_lane(tail=2, hi=2, fence=1, tries=1, due_at=at(10))
ANSWERED = a_lane(tail=2, done=2, fence=1)
HUMAN = a_lane(tail=2, done=1, fence=2, floor="ann")


@pytest.mark.parametrize(
    ("lane", "seconds_later", "times", "expected"),
    [
        (IDLE, 0, TIMES, {"tail": 5, "done": 4, "first_at": T0, "due_at": at(3)}),
        (WAITING, 2, TIMES, {"tail": 5, "first_at": T0, "due_at": at(5)}),
        (WAITING, 64, TIMES, {"due_at": at(65)}),
        (WAITING, 90, TIMES, {"due_at": at(65)}),
        (HELD, 4, TIMES, {"tail": 5, "hi": 2, "fence": 1, "first_at": at(4), "due_at": at(7), "owner": W1}),
        (BUFFERED, 6, TIMES, {"tail": 5, "hi": 2, "first_at": at(4), "due_at": at(9)}),
        (BUFFERED, 68.5, TIMES, {"first_at": at(4), "due_at": at(69)}),
        (POSTPONED, 4, TIMES, {"tail": 5, "hi": 2, "tries": 1, "first_at": at(4), "due_at": at(10)}),
        (ANSWERED, 20, TIMES, {"tail": 5, "done": 2, "first_at": at(20), "due_at": at(23)}),
        (HUMAN, 20, TIMES, {"tail": 5, "first_at": None, "due_at": None, "floor": "ann"}),
        (replace(HELD, first_at=T0), 4, SUPERSEDING, {"hi": None, "owner": None, "fence": 2, "due_at": at(7)}),
        (replace(HELD, first_at=T0), 64, SUPERSEDING, {"hi": None, "first_at": T0, "due_at": at(65)}),
        (replace(HELD, first_at=T0), 66, SUPERSEDING, {"hi": 2, "fence": 1, "first_at": at(66), "due_at": at(69)}),
        (BUFFERED, 6, SUPERSEDING, {"hi": 2, "fence": 1, "due_at": at(9)}),
        (replace(POSTPONED, first_at=T0), 4, SUPERSEDING, {"hi": None, "tries": 0, "due_at": at(7)}),
    ],
)
def test_arrive(lane: TurnState, seconds_later: float, times: TurnTiming, expected: dict[str, Any]) -> None:
    after = rules.arrive(lane, Position(5), at(seconds_later), times)
    assert {name: getattr(after, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("lane", "seconds_later", "is_due"),
    [
        (IDLE, 100, False),
        (WAITING, 2.9, False),
        (WAITING, 3, True),
        (HELD, 8.9, False),
        (HELD, 9, True),
        (replace(HELD, lease_until=None), 0, True),
        (BUFFERED, 8, False),
        (POSTPONED, 9.9, False),
        (POSTPONED, 10, True),
        (ANSWERED, 100, False),
        (HUMAN, 100, False),
    ],
)
def test_due(lane: TurnState, seconds_later: float, is_due: bool) -> None:
    assert rules.is_due(lane, at(seconds_later)) is is_due
    claimed = rules.claim(lane, W2, at(seconds_later), TIMES)
    assert (claimed is not lane) is is_due
    if is_due:
        assert (claimed.owner, claimed.fence, claimed.lease_until) == (W2, lane.fence + 1, at(seconds_later + 6))
        taken_over = lane.owner is not None
        assert (claimed.hi, claimed.done, claimed.tries) == (2, lane.done, lane.tries + taken_over)
        assert claimed.claimed_at == (lane.claimed_at if taken_over else at(seconds_later))


def test_an_edit_belongs_to_a_burst_that_still_waits_and_to_no_other() -> None:
    assert rules.note_edit(WAITING, Position(7)) == replace(WAITING, tail=Position(7))
    assert all(rules.note_edit(lane, Position(7)) is lane for lane in (IDLE, HELD, ANSWERED, HUMAN))


def test_an_edit_while_messages_wait_for_the_next_turn_belongs_to_it() -> None:
    assert rules.note_edit(BUFFERED, Position(9)) == replace(BUFFERED, tail=Position(9))


FLOOD = a_lane(tail=120, first_at=T0, due_at=at(3))


def test_a_claim_that_takes_a_part_leaves_the_rest_due_at_once() -> None:
    claimed = rules.claim(FLOOD, W1, at(4), TIMES, Position(50))
    assert (claimed.done, claimed.hi, claimed.tail) == (0, 50, 120)
    assert rules.claim(claimed, W2, at(11), TIMES, Position(99)).hi == 50
    ended = rules.commit(claimed, claimed.fence, at(5))
    assert not isinstance(ended, LeaseLost)
    assert (ended.done, ended.hi, ended.tail) == (50, None, 120)
    assert rules.is_due(ended, at(5))


@pytest.mark.parametrize("times", [TIMES, SUPERSEDING], ids=["in order", "superseding"])
def test_a_message_beyond_a_part_waits_with_the_rest_since_the_first(times: TurnTiming) -> None:
    claimed = rules.claim(FLOOD, W1, at(4), times, Position(50))
    after = rules.arrive(claimed, Position(121), at(64), times)
    assert (after.hi, after.tail, after.fence) == (50, 121, claimed.fence)
    assert (after.first_at, after.due_at) == (T0, at(65))


@pytest.mark.parametrize(("tail", "long"), [(50, False), (51, True)])
def test_a_burst_is_long_beyond_the_messages_of_a_turn(tail: int, long: bool) -> None:
    assert rules.is_long(a_lane(tail=tail)) is long


def test_a_lane_without_a_moment_is_never_due() -> None:
    assert rules.is_due(replace(WAITING, due_at=None), at(1000)) is False


@pytest.mark.parametrize(
    ("lane", "expected"),
    [
        (HELD, {"done": 2, "hi": None, "owner": None, "first_at": None, "due_at": None, "tries": 0}),
        (BUFFERED, {"done": 2, "hi": None, "owner": None, "first_at": at(4), "due_at": at(7)}),
        (replace(BUFFERED, due_at=None), {"done": 2, "due_at": at(5)}),
    ],
)
def test_commit(lane: TurnState, expected: dict[str, Any]) -> None:
    after = rules.commit(lane, Fence(1), at(5))
    assert isinstance(after, TurnState)
    assert {name: getattr(after, name) for name in expected} == expected


@pytest.mark.parametrize("lane", [IDLE, WAITING, POSTPONED, ANSWERED, HUMAN, replace(HELD, fence=Fence(2))])
def test_who_does_not_hold_a_turn_can_do_nothing_to_it(lane: TurnState) -> None:
    assert rules.commit(lane, Fence(1), T0) == LeaseLost()
    assert rules.fail(lane, Fence(1), T0, TIMES, hopeless=True, wait=None) == LeaseLost()
    assert rules.release_turn(lane, Fence(1), T0) is lane


@pytest.mark.parametrize(("tries", "pause"), [(0, 1), (1, 5), (2, 30)])
def test_a_failure_waits_longer_each_time(tries: int, pause: int) -> None:
    failed = rules.fail(replace(HELD, tries=tries), Fence(1), T0, TIMES, hopeless=False, wait=None)
    assert isinstance(failed, TurnRetried)
    assert (failed.turn_state.due_at, failed.turn_state.tries, failed.turn_state.hi, failed.turn_state.owner) == (
        at(pause),
        tries + 1,
        2,
        None,
    )


@pytest.mark.parametrize(("wait", "pause"), [(None, 1), (0.5, 1), (20, 20)])
def test_a_bot_that_asks_for_more_time_gets_it(wait: float | None, pause: int) -> None:
    asked = None if wait is None else seconds(wait)
    failed = rules.fail(HELD, Fence(1), T0, TIMES, hopeless=False, wait=asked)
    assert isinstance(failed, TurnRetried)
    assert failed.turn_state.due_at == at(pause)


@pytest.mark.parametrize(("who", "due"), [("human", None), ("bot", at(7))])
@pytest.mark.parametrize(("tries", "hopeless"), [(3, False), (0, True)])
def test_the_last_failure_gives_up(who: Any, due: Instant | None, tries: int, hopeless: bool) -> None:
    lane = replace(BUFFERED, tries=tries)
    failed = rules.fail(lane, Fence(1), at(5), TurnTiming(after_failure=who), hopeless=hopeless, wait=None)
    assert isinstance(failed, TurnGivenUp)
    assert (failed.turn_state.floor, failed.turn_state.done, failed.turn_state.due_at, failed.turn_state.tries) == (
        who,
        2,
        due,
        0,
    )


@pytest.mark.parametrize("lane", [IDLE, WAITING, HELD, BUFFERED, POSTPONED, ANSWERED, HUMAN])
def test_whoever_takes_the_floor_fences_everybody_out(lane: TurnState) -> None:
    after = rules.take_floor(lane, "bob")
    assert (after.floor, after.fence, after.owner, after.hi, after.due_at) == ("bob", lane.fence + 1, None, None, None)
    assert (after.tail, after.done) == (lane.tail, lane.done)


@pytest.mark.parametrize(
    ("lane", "mode", "expected"),
    [
        (HUMAN, "answer", {"floor": "bot", "done": 1, "due_at": T0, "fence": 3}),
        (HUMAN, "skip", {"floor": "bot", "done": 2, "due_at": None}),
        (replace(HUMAN, done=2), "answer", {"floor": "bot", "done": 2, "due_at": None}),
    ],
)
def test_hand_back(lane: TurnState, mode: Any, expected: dict[str, Any]) -> None:
    after = rules.hand_back(lane, T0, TurnTiming(on_hand_back=mode))
    assert {name: getattr(after, name) for name in expected} == expected


def test_handing_back_what_the_bot_has_changes_nothing() -> None:
    assert rules.hand_back(HELD, T0, TIMES) is HELD


@pytest.mark.parametrize(
    ("lane", "hi", "expected"),
    [
        (a_lane(tail=4, done=2, floor="human"), 2, {"floor": "bot", "done": 0, "tail": 4, "due_at": T0}),
        (replace(POSTPONED, done=1, tail=3, hi=3), 1, {"done": 0, "tail": 3, "hi": None, "tries": 0}),
        (a_lane(tail=4, done=4), 2, None),
        (replace(HELD, done=1), 1, None),
    ],
)
def test_reopen(lane: TurnState, hi: int, expected: dict[str, Any] | None) -> None:
    after = rules.reopen(lane, Position(0), Position(hi), T0)
    if expected is None:
        assert after == LeaseLost()
    else:
        assert {name: getattr(after, name) for name in expected} == expected


SOME_WAIT = a_lane(tail=5, done=3, due_at=at(2))


def a_seam(here: TurnState, gone: TurnState) -> MergePoint:
    """Ten entries here, five there."""
    ends = [(lane.done if lane.tail > lane.done else end, end) for lane, end in ((here, 10), (gone, 5))]
    (here_cut, here_end), (gone_cut, gone_end) = ends
    return MergePoint(
        here=Position(here_cut), here_end=Position(here_end), gone=Position(gone_cut), gone_end=Position(gone_end)
    )


@pytest.mark.parametrize(
    ("here", "gone", "expected"),
    [
        (IDLE, IDLE, {"tail": 15, "done": 15, "due_at": None}),
        (ANSWERED, ANSWERED, {"tail": 15, "done": 15, "due_at": None}),
        (ANSWERED, SOME_WAIT, {"tail": 15, "done": 13, "due_at": at(2)}),
        (WAITING, ANSWERED, {"tail": 7, "done": 5, "first_at": T0, "due_at": at(3)}),
        (WAITING, SOME_WAIT, {"tail": 15, "done": 3, "due_at": at(2)}),
        (replace(WAITING, done=1), SOME_WAIT, {"tail": 15, "done": 4, "due_at": at(2)}),
        (WAITING, WAITING, {"tail": 12, "done": 0, "due_at": at(3)}),
        (ANSWERED, replace(HELD, done=1), {"tail": 12, "done": 11, "due_at": T0, "hi": None}),
        (HELD, WAITING, {"tail": 12, "hi": 2, "owner": W1, "fence": 1, "due_at": at(3)}),
        (HELD, ANSWERED, {"tail": 7, "done": 5, "hi": None, "owner": None, "fence": 2, "due_at": T0}),
        (BUFFERED, SOME_WAIT, {"tail": 15, "done": 3, "hi": None, "owner": None, "fence": 2, "due_at": T0}),
        (POSTPONED, ANSWERED, {"tail": 7, "done": 5, "hi": None, "tries": 0, "fence": 2, "due_at": T0}),
        (POSTPONED, WAITING, {"tail": 12, "hi": 2, "owner": None, "due_at": at(10)}),
        (HUMAN, WAITING, {"tail": 12, "done": 1, "floor": "ann", "due_at": None}),
        (HUMAN, ANSWERED, {"tail": 7, "done": 6, "floor": "ann", "due_at": None}),
        (HELD, HUMAN, {"tail": 12, "done": 1, "owner": None, "hi": None, "fence": 2, "floor": "ann", "due_at": None}),
    ],
)
def test_joined(here: TurnState, gone: TurnState, expected: dict[str, Any]) -> None:
    """Answered here, answered there, waiting here, waiting there."""
    after = rules.merge_turn_states(here, gone, a_seam(here, gone), T0)
    assert {name: getattr(after, name) for name in expected} == expected


def test_a_burst_that_silences_worker_after_worker_is_given_up() -> None:
    lane, now = WAITING, T0
    for _ in range(len(TIMES.retries) + rules.MOST_TAKEOVERS + 2):
        assert not rules.is_worn_out(lane, TIMES)
        now = Instant(now + minutes(1))
        lane = rules.claim(lane, W1, now, TIMES)
    assert rules.is_worn_out(lane, TIMES)
    assert isinstance(rules.fail(lane, lane.fence, now, TIMES, hopeless=True, wait=None), TurnGivenUp)


def test_a_bot_may_not_ask_for_an_hour() -> None:
    lane = rules.claim(WAITING, W1, Instant(T0 + minutes(1)), TIMES)
    failed = rules.fail(lane, lane.fence, T0, TIMES, hopeless=False, wait=minutes(60))
    assert isinstance(failed, rules.TurnRetried)
    assert failed.turn_state.due_at == T0 + rules.LONGEST_WISH


class Turns(RuleBasedStateMachine):
    """Customers write, workers claim, die, wake and answer late, agents take the floor: no customer waits for ever."""

    @initialize(
        supersede=st.booleans(),
        after=st.sampled_from(["human", "bot"]),
        back=st.sampled_from(["answer", "skip"]),
    )
    def begin(self, supersede: bool, after: Any, back: Any) -> None:
        self.times = TurnTiming(supersede=supersede, after_failure=after, on_hand_back=back)
        self.turn_state = IDLE
        self.now = T0
        self.position = 0
        self.open: set[int] = set()
        """Messages that ask for an answer and have none."""
        self.answered: list[int] = []
        self.claims: list[TurnState] = []
        self.dead: list[tuple[int, int]] = []

    @rule(count=st.floats(0, 40))
    def pass_time(self, count: float) -> None:
        self.now = Instant(self.now + seconds(count))

    @rule(asks=st.booleans())
    def write(self, asks: bool) -> None:
        self.position += 1
        if asks:
            self.open.add(self.position)
            self.turn_state = rules.arrive(self.turn_state, Position(self.position), self.now, self.times)

    @rule(owner=st.sampled_from([W1, W2]), most=st.integers(1, 4))
    def claim(self, owner: WorkerId, most: int) -> None:
        before = self.turn_state
        waiting = sorted(n for n in self.open if before.done < n <= before.tail)
        end = Position(waiting[most - 1]) if len(waiting) > most else None
        self.turn_state = rules.claim(before, owner, self.now, self.times, end)
        if self.turn_state is not before:
            assert before.hi in (None, self.turn_state.hi), "who takes over has the same burst"
            self.claims.append(self.turn_state)

    def _of(self, pick: int) -> TurnState:
        return self.claims[pick % len(self.claims)]

    def _ended(self, claim: TurnState) -> list[int]:
        """The messages of a turn, none of which was answered before."""
        assert claim.hi is not None
        burst = sorted(n for n in self.open if claim.done < n <= claim.hi)
        assert burst, "a turn without a message"
        self.open -= set(burst)
        assert not any(n < burst[0] for n in self.open), "a message was passed over"
        return burst

    @precondition(lambda self: self.claims)
    @rule(pick=st.integers(0, 30))
    def commit(self, pick: int) -> None:
        claim = self._of(pick)
        after = rules.commit(self.turn_state, claim.fence, self.now)
        assert isinstance(after, TurnState) == (
            self.turn_state.owner is not None and self.turn_state.fence == claim.fence
        )
        if isinstance(after, TurnState):
            self.answered += self._ended(claim)
            self.turn_state = after

    @precondition(lambda self: self.claims)
    @rule(pick=st.integers(0, 30), hopeless=st.booleans())
    def fail(self, pick: int, hopeless: bool) -> None:
        claim = self._of(pick)
        after = rules.fail(self.turn_state, claim.fence, self.now, self.times, hopeless=hopeless, wait=None)
        if isinstance(after, LeaseLost):
            return
        self.turn_state = after.turn_state
        if isinstance(after, TurnGivenUp):
            self._ended(claim)
            self.dead.append((int(claim.done), int(claim.hi or 0)))

    @precondition(lambda self: self.claims)
    @rule(pick=st.integers(0, 30))
    def let_go(self, pick: int) -> None:
        self.turn_state = rules.release_turn(self.turn_state, self._of(pick).fence, self.now)

    @rule(who=st.sampled_from(["ann", "bob"]))
    def take_floor(self, who: str) -> None:
        self.turn_state = rules.take_floor(self.turn_state, who)

    @rule()
    def hand_back(self) -> None:
        before = self.turn_state
        self.turn_state = rules.hand_back(before, self.now, self.times)
        if before.floor != BOT and self.times.on_hand_back == "skip":
            self.open.clear()

    @rule()
    def close(self) -> None:
        before = self.turn_state
        self.turn_state = rules.close(before)
        if before.floor != BOT:
            self.open.clear()

    @precondition(lambda self: self.dead)
    @rule()
    def replay(self) -> None:
        lo, hi = self.dead[-1]
        after = rules.reopen(self.turn_state, Position(lo), Position(hi), self.now)
        if isinstance(after, TurnState):
            self.dead.pop()
            self.open.add(hi)
            self.turn_state = after

    @invariant()
    def the_turn_lies_within_what_was_asked(self) -> None:
        lane = getattr(self, "turn_state", IDLE)
        assert lane.done <= lane.tail
        assert lane.hi is None or lane.done < lane.hi <= lane.tail

    @invariant()
    def nobody_waits_for_ever(self) -> None:
        lane = getattr(self, "turn_state", IDLE)
        if lane.tail > lane.done and lane.floor == BOT:
            assert lane.lease_until is not None if lane.owner else lane.due_at is not None

    @invariant()
    def nobody_who_needs_nothing_is_due(self) -> None:
        lane = getattr(self, "turn_state", IDLE)
        if lane.tail <= lane.done or lane.floor != BOT:
            assert (lane.owner, lane.due_at, lane.hi) == (None, None, None)

    @invariant()
    def what_has_no_answer_is_asked(self) -> None:
        lane = getattr(self, "turn_state", IDLE)
        assert all(lane.done < n <= lane.tail for n in getattr(self, "open", ()))

    @invariant()
    def answers_come_once_and_in_order(self) -> None:
        answered = getattr(self, "answered", [])
        assert answered == sorted(set(answered))


TestTurns = Turns.TestCase
TestTurns.settings = settings(max_examples=200, stateful_step_count=60, deadline=None)

"""The drawing in docs/explanation/turns.md shows every move that `rules.conversations.lane` makes, and no others."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from waypost.model.conversation import ANYBODY, ConversationId, Position, TurnState, TurnTiming
from waypost.model.ids import Fence, OrgId, WorkerId
from waypost.model.time import Instant, minutes, seconds
from waypost.rules.conversations import turn_state as rules
from waypost.rules.conversations.turn_phases import TurnPhase, state_of
from waypost.rules.conversations.turn_state import LeaseLost, TurnGivenUp, TurnRetried

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "turns.md").read_text()
ARROWS = re.findall(r"^ +(\[\*\]|\w+) --> (\[\*\]|\w+)(?:: (\w+))?$", PAGE, re.MULTILINE)
T0 = Instant(1_760_000_000_000_000)
LATER = Instant(T0 + minutes(30))
FRESH = TurnState(conversation_id=ConversationId(1), org_id=OrgId("acme"))
KINDS = [
    TurnTiming(supersede=supersede, after_failure=after, on_hand_back=back)
    for supersede in (False, True)
    for after in ("human", "bot")
    for back in ("answer", "skip")
]
OF_NO_STATE = ("merge_turn_states", "note_edit")
"""One makes one lane of two, the other lets a burst that waits grow by a correction."""
MOST = Position(3)
"""Messages are enough to have some answered, some being answered and some waiting."""


def moves(lane: TurnState, times: TurnTiming) -> Iterator[tuple[str, TurnState | LeaseLost]]:
    """Everything that can be asked of a lane, and what becomes of it."""
    if lane.tail < MOST:
        yield "arrive", rules.arrive(lane, Position(lane.tail + 1), T0, times)
        yield "arrive", rules.arrive(lane, Position(lane.tail + 1), Instant(T0 + seconds(1)), times)
    yield "claim", rules.claim(lane, WorkerId("worker"), LATER, times)
    yield "claim", rules.claim(lane, WorkerId("another"), Instant(LATER + minutes(30)), times)
    yield "commit", rules.commit(lane, lane.fence, T0)
    for hopeless in (False, True):
        failed = rules.fail(lane, lane.fence, T0, times, hopeless=hopeless, wait=None)
        yield "fail", failed.turn_state if isinstance(failed, TurnRetried | TurnGivenUp) else failed
    yield "release_turn", rules.release_turn(lane, lane.fence, T0)
    yield "take_floor", rules.take_floor(lane, ANYBODY)
    yield "human_replied", rules.human_replied(lane)
    yield "hand_back", rules.hand_back(lane, T0, times)
    yield "close", rules.close(lane)
    if lane.done > 0:
        yield "reopen", rules.reopen(lane, Position(lane.done - 1), lane.done, T0)


def alike_of(lane: TurnState) -> TurnState:
    """What only ever grows makes no other lane."""
    return replace(lane, fence=Fence(0), tries=min(lane.tries, 4))


def made(times: TurnTiming) -> set[tuple[TurnPhase, str, TurnPhase]]:
    """Every move from every lane that can come to be."""
    found: set[tuple[TurnPhase, str, TurnPhase]] = set()
    todo, seen = [FRESH], {FRESH}
    while todo:
        lane = todo.pop()
        for name, after in moves(lane, times):
            if isinstance(after, LeaseLost) or after == lane:
                continue
            found.add((state_of(lane), name, state_of(after)))
            alike = alike_of(after)
            if alike not in seen:
                seen.add(alike)
                todo.append(alike)
    return found


def test_it_shows_the_moves_that_the_rules_make_and_no_others() -> None:
    drawn = {(start, move, end) for start, end, move in ARROWS if move}
    assert drawn == {(start.value, move, end.value) for times in KINDS for start, move, end in made(times)}


NO_MOVES = ("is_due", "is_long", "is_taken", "is_worn_out", "holds", "merge_turn_states", "note_edit")


def test_every_rule_that_changes_a_lane_is_in_it() -> None:
    of_a_lane = {
        name
        for name, function in inspect.getmembers(rules, inspect.isfunction)
        if function.__module__ == rules.__name__ and not name.startswith("_") and name not in NO_MOVES
    }
    assert {move for _, _, move in ARROWS if move} == of_a_lane


def test_it_begins_where_a_lane_begins_and_names_every_state_and_move_below() -> None:
    assert [end for start, end, _ in ARROWS if start == "[*]"] == [state_of(FRESH).value]
    explained = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert explained == {state.value for state in TurnPhase} | {move for _, _, move in ARROWS if move}


def test_a_lane_asks_for_an_answer_exactly_when_somebody_will_find_it() -> None:
    """The invariant `turn_nowhere` of the loss detector, over everything that can come to be."""
    for times in KINDS:
        todo, seen = [FRESH], {FRESH}
        while todo:
            lane = todo.pop()
            asks = lane.tail > lane.done and state_of(lane) is not TurnPhase.HUMAN
            assert asks == (state_of(lane) in (TurnPhase.WAITING, TurnPhase.THINKING, TurnPhase.AGAIN)), lane
            for _, after in moves(lane, times):
                if isinstance(after, TurnState) and (alike := alike_of(after)) not in seen:
                    seen.add(alike)
                    todo.append(alike)

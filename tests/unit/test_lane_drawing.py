"""The drawing of a lane in docs/explanation/turns.md shows every move that rules/lane.py can make, and no others."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from waypost.model.conversation import ANYBODY, ConversationId, Lane, Position, Times
from waypost.model.ids import Fence, OrgId, WorkerId
from waypost.model.time import Instant, minutes, seconds
from waypost.rules import lane as rules
from waypost.rules.lane import Again, Dead, LeaseLost
from waypost.rules.lane_states import LaneState, state_of

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "turns.md").read_text()
ARROWS = re.findall(r"^ +(\[\*\]|\w+) --> (\[\*\]|\w+)(?:: (\w+))?$", PAGE, re.MULTILINE)
T0 = Instant(1_760_000_000_000_000)
LATER = Instant(T0 + minutes(30))
FRESH = Lane(conversation_id=ConversationId(1), org_id=OrgId("acme"))
KINDS = [
    Times(supersede=supersede, after_failure=after, on_hand_back=back)
    for supersede in (False, True)
    for after in ("human", "bot")
    for back in ("answer", "skip")
]
OF_NO_STATE = ("joined", "overhear")
"""One makes one lane of two, the other lets a burst that waits grow by a correction."""
MOST = Position(3)
"""Messages are enough to have some answered, some being answered and some waiting."""


def moves(lane: Lane, times: Times) -> Iterator[tuple[str, Lane | LeaseLost]]:
    """Everything that can be asked of a lane, and what becomes of it."""
    if lane.tail < MOST:
        yield "arrive", rules.arrive(lane, Position(lane.tail + 1), T0, times)
        yield "arrive", rules.arrive(lane, Position(lane.tail + 1), Instant(T0 + seconds(1)), times)
    yield "claim", rules.claim(lane, WorkerId("worker"), LATER, times)
    yield "claim", rules.claim(lane, WorkerId("another"), Instant(LATER + minutes(30)), times)
    yield "commit", rules.commit(lane, lane.fence, T0)
    for hopeless in (False, True):
        failed = rules.fail(lane, lane.fence, T0, times, hopeless=hopeless, wait=None)
        yield "fail", failed.lane if isinstance(failed, Again | Dead) else failed
    yield "let_go", rules.let_go(lane, lane.fence, T0)
    yield "hand_over", rules.hand_over(lane, ANYBODY)
    yield "speak", rules.speak(lane)
    yield "hand_back", rules.hand_back(lane, T0, times)
    yield "close", rules.close(lane)
    if lane.done > 0:
        yield "reopen", rules.reopen(lane, Position(lane.done - 1), lane.done, T0)


def alike_of(lane: Lane) -> Lane:
    """What only ever grows makes no other lane."""
    return replace(lane, fence=Fence(0), tries=min(lane.tries, 4))


def made(times: Times) -> set[tuple[LaneState, str, LaneState]]:
    """Every move from every lane that can come to be."""
    found: set[tuple[LaneState, str, LaneState]] = set()
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


def test_every_rule_that_changes_a_lane_is_in_it() -> None:
    of_a_lane = {
        name
        for name, function in inspect.getmembers(rules, inspect.isfunction)
        if function.__module__ == rules.__name__
        and not name.startswith("_")
        and name
        not in ("is_due", "is_taken", "is_worn_out", "holds", "joined", "overhear")  # the last makes one lane of two
    }
    assert {move for _, _, move in ARROWS if move} == of_a_lane


def test_it_begins_where_a_lane_begins_and_names_every_state_and_move_below() -> None:
    assert [end for start, end, _ in ARROWS if start == "[*]"] == [state_of(FRESH).value]
    explained = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert explained == {state.value for state in LaneState} | {move for _, _, move in ARROWS if move}


def test_a_lane_asks_for_an_answer_exactly_when_somebody_will_find_it() -> None:
    """The invariant `turn_nowhere` of the loss detector, over everything that can come to be."""
    for times in KINDS:
        todo, seen = [FRESH], {FRESH}
        while todo:
            lane = todo.pop()
            asks = lane.tail > lane.done and state_of(lane) is not LaneState.HUMAN
            assert asks == (state_of(lane) in (LaneState.WAITING, LaneState.THINKING, LaneState.AGAIN)), lane
            for _, after in moves(lane, times):
                if isinstance(after, Lane) and (alike := alike_of(after)) not in seen:
                    seen.add(alike)
                    todo.append(alike)

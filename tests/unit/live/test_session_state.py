"""The states of a live connection: the drawing in docs/explanation/live.md, the enum and the table of moves agree."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

from waypost.http.live import session
from waypost.http.live.session_state import MOVES, ONCE_LIVE, READING, SessionMove, SessionState

PAGE = (Path(__file__).parents[3] / "docs" / "explanation" / "live.md").read_text()
DRAWING = PAGE.partition("```mermaid")[2].partition("```")[0]
ARROWS = re.findall(r"^ +(\[\*\]|\w+) --> (\[\*\]|\w+)(?:: (\w+))?$", DRAWING, re.MULTILINE)


class TestDrawing:
    def test_it_shows_the_moves_of_the_table_and_no_others(self) -> None:
        drawn = [(start, move, end) for start, end, move in ARROWS if move]
        assert sorted(drawn) == sorted((start.value, move.value, end.value) for (start, move), end in MOVES.items())

    def test_it_shows_every_state_and_no_other(self) -> None:
        drawn = {state for start, end, _ in ARROWS for state in (start, end)} - {"[*]"}
        assert drawn == {state.value for state in SessionState}

    def test_it_starts_connected_and_ends_closed(self) -> None:
        assert [end for start, end, _ in ARROWS if start == "[*]"] == [SessionState.CONNECTED.value]
        assert [start for start, end, _ in ARROWS if end == "[*]"] == [SessionState.CLOSED.value]

    def test_its_tables_explain_every_state_and_every_move(self) -> None:
        below = PAGE.partition("| state of a connection |")[2].partition("\n\nWhile pages")[0]
        assert re.findall(r"^\| `(\w+)` \|", below, re.MULTILINE) == [state.value for state in SessionState]
        moves = [name for name in re.findall(r"^\| (\w+) \|", below, re.MULTILINE) if name != "move"]
        assert moves == [move.value for move in SessionMove]

    def test_every_line_of_the_drawing_was_read(self) -> None:
        assert len(ARROWS) == sum("-->" in line for line in DRAWING.splitlines())


class TestMoves:
    def test_every_open_state_can_be_closed_and_a_closed_one_stays_closed(self) -> None:
        closable = {state for state, move in MOVES if move is SessionMove.CLOSE}
        assert closable == set(SessionState) - {SessionState.CLOSED}

    def test_a_device_goes_live_only_after_reading_pages(self) -> None:
        assert {start for (start, _), end in MOVES.items() if end is SessionState.LIVE} == READING

    def test_a_device_that_falls_behind_was_live(self) -> None:
        assert {start for (start, _), end in MOVES.items() if end is SessionState.RECOVERING} == {SessionState.LIVE}
        assert {SessionState.LIVE, SessionState.RECOVERING} == ONCE_LIVE


def test_a_session_changes_its_state_in_one_place_and_makes_every_move() -> None:
    tree = ast.parse(inspect.getsource(session))
    assigned = [
        function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr == "_state" and isinstance(node.ctx, ast.Store)
    ]
    assert sorted(assigned) == ["__init__", "_move"]
    made = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "SessionMove"
    }
    assert made == {move.name for move in SessionMove}

"""The drawing of a message's states is the table of its moves."""

from __future__ import annotations

import re
from pathlib import Path

from waypost.model.message import Status
from waypost.rules.sending.delivery import MOVES, TERMINAL, DeliveryTransition

DRAWING = Path(__file__).parents[2] / "docs" / "explanation" / "states.md"


class TestDrawing:
    """The drawing is for users; it must not tell another story than the code."""

    arrows = re.findall(r"^ +(\[\*\]|\w+) --> (\[\*\]|\w+)(?:: (\w+))?$", DRAWING.read_text(), re.MULTILINE)

    def test_it_shows_the_moves_of_the_table_and_no_others(self) -> None:
        drawn = [(start, move, end) for start, end, move in self.arrows if move]
        table = [(start.value, move.value, end.value) for (start, move), end in MOVES.items()]
        assert sorted(drawn) == sorted(table)

    def test_it_shows_every_state_and_no_other(self) -> None:
        drawn = {state for start, end, _ in self.arrows for state in (start, end)} - {"[*]"}
        assert drawn == {status.value for status in Status}

    def test_it_starts_where_messages_start_and_ends_where_they_end(self) -> None:
        assert [end for start, end, _ in self.arrows if start == "[*]"] == [Status.QUEUED.value]
        assert {start for start, end, _ in self.arrows if end == "[*]"} == {status.value for status in TERMINAL}

    def test_its_tables_explain_every_state_and_every_move(self) -> None:
        text = DRAWING.read_text()
        states = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
        moves = re.findall(r"^\| (\w+) \|", text, re.MULTILINE)
        assert states == [status.value for status in Status]
        assert set(moves) - {"state", "move"} == {move.value for move in DeliveryTransition}

    def test_every_line_of_the_drawing_was_read(self) -> None:
        drawing = DRAWING.read_text().partition("```mermaid")[2].partition("```")[0]
        assert len(self.arrows) == sum("-->" in line for line in drawing.splitlines())

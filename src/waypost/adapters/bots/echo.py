"""A bot that says what it was told, for demos and tests."""

from __future__ import annotations

from waypost.model.turn import Answer, Turn
from waypost.rules.answers import said


class EchoBot:
    history = 0
    thinks = False

    async def answer(self, turn: Turn) -> Answer:
        return "\n".join(said(line) for line in turn.messages)

    async def close(self) -> None:
        """Nothing is open."""

"""A bot that repeats the customer's messages, for demos and tests."""

from __future__ import annotations

from waypost.model.turn import Answer, Turn
from waypost.rules.conversations.bot_answers import message_text


class EchoBot:
    history = 0
    thinks = False

    async def answer(self, turn: Turn) -> Answer:
        return "\n".join(message_text(line) for line in turn.messages)

    async def close(self) -> None:
        """Nothing to close."""

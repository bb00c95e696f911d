"""Whoever answers customers: a model, the user's own service, a function."""

from __future__ import annotations

from typing import Protocol

from waypost.model.turn import Answer, Turn


class BotFailed(Exception):
    """No answer came. The turn is tried again later, unless trying again cannot help."""

    def __init__(self, reason: str, *, hopeless: bool = False, retry_after: float | None = None) -> None:
        """`reason` is for an operator and holds no secret; `retry_after` is in seconds, where the bot said so."""
        super().__init__(reason)
        self.reason = reason
        self.hopeless = hopeless
        self.retry_after = retry_after


class Bot(Protocol):
    @property
    def history(self) -> int:
        """How many earlier messages it wants to see."""

    @property
    def thinks(self) -> bool:
        """Whether an answer may take seconds, so that the customer should see somebody typing."""

    async def answer(self, turn: Turn) -> Answer:
        """Answer a whole burst. May be asked again with the same `turn.id`; may be cancelled at any time.

        Raises BotFailed. Whatever else it raises counts as such a failure.
        """

    async def close(self) -> None:
        """Let go of connections."""

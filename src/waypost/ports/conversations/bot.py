"""The bot that answers customers: a model, the user's own service, or a function."""

from __future__ import annotations

from typing import Protocol

from waypost.model.turn import Answer, Turn


class BotFailed(Exception):
    """The bot gave no answer. The turn is retried later, unless a retry cannot help."""

    def __init__(self, reason: str, *, hopeless: bool = False, retry_after: float | None = None) -> None:
        """`reason` is for operators and contains no secret; `retry_after` is in seconds, if the bot asked for one."""
        super().__init__(reason)
        self.reason = reason
        self.hopeless = hopeless
        self.retry_after = retry_after


class Bot(Protocol):
    @property
    def history(self) -> int:
        """How many earlier messages it gets."""

    @property
    def thinks(self) -> bool:
        """Whether an answer may take seconds, so that the customer should see a typing indicator."""

    async def answer(self, turn: Turn) -> Answer:
        """Answer a whole burst. May be called again with the same `turn.id`; may be cancelled at any time.

        Raises BotFailed. Any other exception counts as that failure.
        """

    async def close(self) -> None:
        """Close connections."""

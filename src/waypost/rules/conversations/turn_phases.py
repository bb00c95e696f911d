"""The phase of a turn state, as drawn in docs/explanation/turns.md."""

from __future__ import annotations

from enum import StrEnum

from waypost.model.conversation import BOT, TurnState


class TurnPhase(StrEnum):
    QUIET = "QUIET"
    """No message needs an answer."""
    WAITING = "WAITING"
    """The burst may not be over yet, or no worker has claimed the turn."""
    THINKING = "THINKING"
    """A worker holds the turn."""
    AGAIN = "AGAIN"
    """Exactly the same burst will be retried."""
    HUMAN = "HUMAN"
    """An agent has the floor."""


def state_of(state: TurnState) -> TurnPhase:
    if state.floor != BOT:
        return TurnPhase.HUMAN
    if state.owner is not None:
        return TurnPhase.THINKING
    if state.hi is not None:
        return TurnPhase.AGAIN
    return TurnPhase.QUIET if state.due_at is None else TurnPhase.WAITING

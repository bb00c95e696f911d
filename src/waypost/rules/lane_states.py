"""Where a lane stands, in one word: what docs/explanation/turns.md draws."""

from __future__ import annotations

from enum import StrEnum

from waypost.model.conversation import BOT, Lane


class LaneState(StrEnum):
    QUIET = "QUIET"
    """Nothing asks for an answer."""
    WAITING = "WAITING"
    """The burst may not be over yet, or nobody has taken the turn."""
    THINKING = "THINKING"
    """A worker has the turn."""
    AGAIN = "AGAIN"
    """Exactly the same burst is tried once more."""
    HUMAN = "HUMAN"
    """A person has the floor."""


def state_of(lane: Lane) -> LaneState:
    if lane.floor != BOT:
        return LaneState.HUMAN
    if lane.owner is not None:
        return LaneState.THINKING
    if lane.hi is not None:
        return LaneState.AGAIN
    return LaneState.QUIET if lane.due_at is None else LaneState.WAITING

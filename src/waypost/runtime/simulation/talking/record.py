"""What bots were asked and said, and when people had the floor: the part of the record that is about conversations."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from waypost.model.conversation import CONTACT
from waypost.model.turn import Turn

Talk = tuple[str, str]
"""A conversation as the outside knows it: the business number, and the customer's phone with its plus."""


class Ended(StrEnum):
    """How a bot's thinking ended, as the bot knows it."""

    ANSWERED = "answered"
    SILENT = "silent"
    HANDED_OVER = "handed over"
    FAILED = "failed"
    CUT = "cut off"


@dataclass
class Ask:
    """One question to a bot."""

    id: int
    turn: str
    talk: Talk
    saw: tuple[str, ...]
    """The words of the burst, in the order in which the bot was given them."""
    before: tuple[str, ...]
    """What the customer had written before that, as far as the bot was told; of a very long burst, its beginning."""
    begun: int
    ended: int | None = None
    """None: its process died while it thought."""
    how: Ended | None = None

    def end(self, how: Ended, at: int) -> None:
        self.how, self.ended = how, at


class Said(msgspec.Struct, frozen=True):
    """A bot's reply as the phone shows it: its text is this, in JSON."""

    ask: int
    turn: str
    part: int
    of: int
    saw: tuple[str, ...]


@dataclass
class Floor:
    """A change of who has the floor: it came about at some moment between asking and answering."""

    talk: Talk
    to_bot: bool
    asked: int
    answered: int | None = None


@dataclass
class TalkRecord:
    asks: list[Ask] = field(default_factory=list)
    floors: list[Floor] = field(default_factory=list)

    def ask(self, turn: Turn, talk: Talk, at: int) -> Ask:
        saw = tuple(line.text for line in turn.messages)
        before = tuple(line.text for line in turn.history if line.sender == CONTACT)
        self.asks.append(Ask(len(self.asks) + 1, turn.id, talk, saw, before, at))
        return self.asks[-1]

    def floor(self, talk: Talk, at: int, *, to_bot: bool) -> Floor:
        self.floors.append(Floor(talk, to_bot, at))
        return self.floors[-1]

"""The bot calls, their replies, and when agents had the floor: the part of the record about conversations."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from waypost.model.turn import Turn

CustomerKey = tuple[str, str]
"""A conversation as seen from outside: the business number, and the customer's phone with its plus."""


class BotCallEnd(StrEnum):
    """How a bot call ended, as the bot knows it."""

    ANSWERED = "answered"
    SILENT = "silent"
    HANDED_OVER = "handed over"
    FAILED = "failed"
    CUT = "cut off"


@dataclass
class BotCall:
    """One call of a bot."""

    id: int
    turn: str
    conversation: CustomerKey
    saw: tuple[str, ...]
    """The texts of the burst, in the order in which the bot received them."""
    begun: int
    ended: int | None = None
    """None: its process died during the call."""
    how: BotCallEnd | None = None

    def end(self, how: BotCallEnd, at: int) -> None:
        self.how, self.ended = how, at


class BotReply(msgspec.Struct, frozen=True):
    """A bot's reply as the phone shows it: its text is this, in JSON."""

    ask: int
    turn: str
    part: int
    of: int
    saw: tuple[str, ...]


@dataclass
class FloorChange:
    """A change of the floor: it happened at some moment between request and answer."""

    conversation: CustomerKey
    to_bot: bool
    asked: int
    answered: int | None = None


@dataclass
class TurnRecord:
    asks: list[BotCall] = field(default_factory=list)
    floors: list[FloorChange] = field(default_factory=list)

    def ask(self, turn: Turn, conversation: CustomerKey, at: int) -> BotCall:
        saw = tuple(line.text for line in turn.messages)
        self.asks.append(BotCall(len(self.asks) + 1, turn.id, conversation, saw, at))
        return self.asks[-1]

    def floor(self, conversation: CustomerKey, at: int, *, to_bot: bool) -> FloorChange:
        self.floors.append(FloorChange(conversation, to_bot, at))
        return self.floors[-1]

"""The fate of each customer message: its entry, the bot calls that saw it, and what the phone shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from waypost.model.conversation import CONTACT
from waypost_testing.stories.record import SimulationRecord
from waypost_testing.stories.talking.record import BotCall, BotReply, CustomerKey, FloorChange
from waypost_testing.stories.talking.scenario import TurnScenarioResult

EntryPlace = tuple[int, int]
"""Conversation and position."""


@dataclass(frozen=True)
class PhoneReply:
    """A bot's reply on a phone, in the order in which the phone got them."""

    wamid: str
    reply: BotReply
    ask: BotCall


@dataclass
class CustomerMessage:
    """One message of a customer."""

    wamid: str
    text: str
    written: int
    """By its own time, in seconds."""
    acknowledged: bool
    places: list[EntryPlace] = field(default_factory=list)
    asks: list[BotCall] = field(default_factory=list)
    answers: list[BotCall] = field(default_factory=list)
    """The bot calls whose replies are on the phone."""


@dataclass(frozen=True)
class FloorPeriod:
    """A time in which an agent certainly had the floor, and the moments at which it was taken and returned."""

    conversation: CustomerKey
    taken: FloorChange
    back: FloorChange | None


class TurnEvidence:
    def __init__(self, ending: TurnScenarioResult) -> None:
        self.ending = ending
        self.record: SimulationRecord = ending.record
        self.asks = {ask.id: ask for ask in ending.turns_record.asks}
        self.where: dict[int, CustomerKey] = {row[2]: (row[0], row[1]) for row in ending.entries}

    @cached_property
    def replies(self) -> dict[CustomerKey, list[PhoneReply]]:
        """By conversation, in the order in which they reached the phone."""
        found: dict[CustomerKey, list[PhoneReply]] = {}
        for phone, screen in self.ending.screens.items():
            for shown in screen:
                if shown["from"] == "business":
                    reply = msgspec.json.decode(shown["text"], type=BotReply)
                    conversation = (self.ending.numbers[shown["wamid"]], phone)
                    found.setdefault(conversation, []).append(PhoneReply(shown["wamid"], reply, self.asks[reply.ask]))
        return found

    @cached_property
    def lines(self) -> dict[str, CustomerMessage]:
        """By their words, which are unique."""
        record = self.record
        lines = {
            text: CustomerMessage(wamid, text, written, record.inbound[wamid])
            for wamid, (text, written) in record.words.items()
        }
        for _, _, conversation, position, wamid, sender in self.ending.entries:
            if sender == CONTACT:
                lines[record.words[wamid][0]].places.append((conversation, position))
        for ask in self.ending.turns_record.asks:
            for text in ask.saw:
                lines[text].asks.append(ask)
        for replies in self.replies.values():
            for ask in {reply.ask.id: reply.ask for reply in replies}.values():
                for text in ask.saw:
                    lines[text].answers.append(ask)
        return lines

    @cached_property
    def spells(self) -> list[FloorPeriod]:
        found, floors = [], self.ending.turns_record.floors
        for n, taken in enumerate(floors):
            if not taken.to_bot:
                later = (each for each in floors[n + 1 :] if each.conversation == taken.conversation and each.to_bot)
                found.append(FloorPeriod(taken.conversation, taken, next(later, None)))
        return found

    def floor_moved(self, conversation: CustomerKey, since: int, until: int) -> bool:
        """Whether an agent may have changed the floor in between."""
        return any(
            each.conversation == conversation
            and each.asked <= until
            and (each.answered is None or each.answered >= since)
            for each in self.ending.turns_record.floors
        )

    def turns_over(self, place: EntryPlace) -> list[tuple[int, int, str]]:
        """The ended turns that included this message: their bounds and how they ended."""
        conversation, position = place
        return [(lo, hi, how) for id_, lo, hi, how in self.ending.turns if id_ == conversation and lo < position <= hi]

    @cached_property
    def written(self) -> dict[int, dict[int, str]]:
        """What customers wrote, by conversation and position."""
        found: dict[int, dict[int, str]] = {}
        for line in self.lines.values():
            for conversation, position in line.places:
                found.setdefault(conversation, {})[position] = line.text
        return found

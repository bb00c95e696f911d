"""What became of each customer's line: where it stands in the log, who was asked about it, and what the phone shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from waypost.model.conversation import CONTACT
from waypost.runtime.simulation.record import Record
from waypost.runtime.simulation.talking.record import Ask, Floor, Said, Talk
from waypost.runtime.simulation.talking.scenario import TalkEnding

Place = tuple[int, int]
"""Conversation and position in the log."""


@dataclass(frozen=True)
class Reply:
    """A bot's reply on a phone, in the order in which the phone got them."""

    wamid: str
    said: Said
    ask: Ask


@dataclass
class Line:
    """One message of a customer."""

    wamid: str
    text: str
    written: int
    """By its own time, in seconds."""
    acknowledged: bool
    places: list[Place] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    answers: list[Ask] = field(default_factory=list)
    """The asks whose replies are on the phone."""


@dataclass(frozen=True)
class Spell:
    """A time in which a person certainly had the floor, and the moments in which it was taken and given back."""

    talk: Talk
    taken: Floor
    back: Floor | None


class TalkEvidence:
    def __init__(self, ending: TalkEnding) -> None:
        self.ending = ending
        self.record: Record = ending.record
        self.asks = {ask.id: ask for ask in ending.talks.asks}
        self.where: dict[int, Talk] = {row[2]: (row[0], row[1]) for row in ending.entries}

    @cached_property
    def replies(self) -> dict[Talk, list[Reply]]:
        """By conversation, in the order in which they reached the phone."""
        found: dict[Talk, list[Reply]] = {}
        for phone, screen in self.ending.screens.items():
            for shown in screen:
                if shown["from"] == "business":
                    said = msgspec.json.decode(shown["text"], type=Said)
                    talk = (self.ending.numbers[shown["wamid"]], phone)
                    found.setdefault(talk, []).append(Reply(shown["wamid"], said, self.asks[said.ask]))
        return found

    @cached_property
    def lines(self) -> dict[str, Line]:
        """By their words, which are unique."""
        record = self.record
        lines = {
            text: Line(wamid, text, written, record.inbound[wamid]) for wamid, (text, written) in record.words.items()
        }
        for _, _, conversation, position, wamid, sender in self.ending.entries:
            if sender == CONTACT:
                lines[record.words[wamid][0]].places.append((conversation, position))
        for ask in self.ending.talks.asks:
            for text in _asked(ask, lines):
                lines[text].asks.append(ask)
        for replies in self.replies.values():
            for ask in {reply.ask.id: reply.ask for reply in replies}.values():
                for text in _asked(ask, lines):
                    lines[text].answers.append(ask)
        return lines

    @cached_property
    def spells(self) -> list[Spell]:
        found, floors = [], self.ending.talks.floors
        for n, taken in enumerate(floors):
            if not taken.to_bot:
                later = (each for each in floors[n + 1 :] if each.talk == taken.talk and each.to_bot)
                found.append(Spell(taken.talk, taken, next(later, None)))
        return found

    def floor_moved(self, talk: Talk, since: int, until: int) -> bool:
        """Whether the floor may have changed hands in between, by a person's hand."""
        return any(
            each.talk == talk and each.asked <= until and (each.answered is None or each.answered >= since)
            for each in self.ending.talks.floors
        )

    def turns_over(self, place: Place) -> list[tuple[int, int, str]]:
        """The ended turns that took this message: their bounds and how they ended."""
        conversation, position = place
        return [(lo, hi, how) for id_, lo, hi, how in self.ending.turns if id_ == conversation and lo < position <= hi]


def _asked(ask: Ask, lines: dict[str, Line]) -> list[str]:
    """The burst whole: where it is too long for a bot, it is told the beginning as what was said before."""
    if not ask.before:
        return list(ask.saw)
    conversation, lo, hi = map(int, ask.turn.split("-"))
    begins = [text for text in ask.before if any(c == conversation and lo < p <= hi for c, p in lines[text].places)]
    return [*begins, *ask.saw]

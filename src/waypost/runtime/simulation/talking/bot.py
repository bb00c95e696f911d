"""A bot with moods: at once, slow, slower than a lease, hung, failing; its answer names exactly what it saw."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from waypost.model.turn import Answer, Handover, Turn
from waypost.ports.bot import BotFailed
from waypost.runtime.simulation.talking.record import Ask, Ended, Said, TalkRecord

AT_ONCE, SHORT, LONG, HANGS, FAILS, CRASHES, HANDS_OVER, SAYS_NOTHING = range(8)


@dataclass(frozen=True)
class Character:
    """What the seed makes of the bot; the same for every server."""

    moods: tuple[int, ...]
    """How often it is in each of them, compared with the rest."""
    thinks: bool
    history: int
    hopeless_with: str | None
    """A customer whose every burst makes it fail."""

    @classmethod
    def drawn(cls, dice: random.Random, customers: list[str]) -> Character:
        kinds = ((40, 30, 12, 3, 6, 2, 3, 4), (70, 10, 10, 1, 3, 1, 2, 3), (10, 30, 40, 5, 5, 2, 4, 4))
        hopeless = dice.choice(customers) if dice.random() < 0.4 else None
        return cls(dice.choice(kinds), dice.random() < 0.3, dice.choice((0, 0, 10)), hopeless)


class MoodyBot:
    """One per life of a server; what it was asked is noted even if that life ends."""

    def __init__(self, character: Character, talks: TalkRecord, dice: random.Random, now: Callable[[], int]) -> None:
        self._character = character
        self._talks = talks
        self._dice = dice
        self._now = now
        self.history = character.history
        self.thinks = character.thinks

    async def answer(self, turn: Turn) -> Answer:
        talk = (turn.number, turn.contact.phone or turn.contact.id)
        ask = self._talks.ask(turn, talk, self._now())
        try:
            return await self._in_a_mood(ask)
        except asyncio.CancelledError:
            ask.end(Ended.CUT, self._now())
            raise
        except Exception:
            ask.end(Ended.FAILED, self._now())
            raise

    async def _in_a_mood(self, ask: Ask) -> Answer:
        mood = self._dice.choices(range(8), self._character.moods)[0]
        if mood in (SHORT, LONG):
            await asyncio.sleep(self._dice.uniform(0.05, 3) if mood == SHORT else self._dice.uniform(5, 18))
        if mood == HANGS:
            await asyncio.Event().wait()
        if mood == FAILS or ask.talk[1] == self._character.hopeless_with:
            raise BotFailed("it has a bad day", retry_after=self._dice.choice((None, None, 2.0)))
        if mood == CRASHES:
            raise ValueError("a bug of the bot")
        if mood in (HANDS_OVER, SAYS_NOTHING):
            ask.end(Ended.HANDED_OVER if mood == HANDS_OVER else Ended.SILENT, self._now())
            return Handover("it wants a person") if mood == HANDS_OVER else None
        ask.end(Ended.ANSWERED, self._now())
        return self._words(ask)

    def _words(self, ask: Ask) -> list[str | dict[str, object]]:
        parts = self._dice.choice((1, 1, 1, 2, 3))
        said = (Said(ask.id, ask.turn, part, parts, ask.saw) for part in range(1, parts + 1))
        return [msgspec.json.encode(each).decode() for each in said]

    async def close(self) -> None:
        """It holds nothing."""

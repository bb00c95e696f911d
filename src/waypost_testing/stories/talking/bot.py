"""A faulty bot: immediate, slow, slower than a lease, hung, failing; its answer names exactly what it saw."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from waypost.model.turn import Answer, Handover, Turn
from waypost.ports.conversations.bot import BotFailed
from waypost_testing.stories.talking.record import BotCall, BotCallEnd, BotReply, TurnRecord

AT_ONCE, SHORT, LONG, HANGS, FAILS, CRASHES, HANDS_OVER, IS_SILENT = range(8)


@dataclass(frozen=True)
class BotProfile:
    """What the seed decides about the bot; the same for every server."""

    moods: tuple[int, ...]
    """The relative frequency of each behaviour."""
    thinks: bool
    history: int
    hopeless_with: str | None
    """A customer whose every burst makes it fail."""

    @classmethod
    def drawn(cls, rng: random.Random, customers: list[str]) -> BotProfile:
        kinds = ((40, 30, 12, 3, 6, 2, 3, 4), (70, 10, 10, 1, 3, 1, 2, 3), (10, 30, 40, 5, 5, 2, 4, 4))
        hopeless = rng.choice(customers) if rng.random() < 0.4 else None
        return cls(rng.choice(kinds), rng.random() < 0.3, rng.choice((0, 0, 10)), hopeless)


class FaultyBot:
    """One per life of a server; its calls are recorded even if that life ends."""

    def __init__(
        self, character: BotProfile, turns_record: TurnRecord, rng: random.Random, now: Callable[[], int]
    ) -> None:
        self._character = character
        self._record = turns_record
        self._rng = rng
        self._now = now
        self.history = character.history
        self.thinks = character.thinks

    async def answer(self, turn: Turn) -> Answer:
        conversation = (turn.number, turn.contact.phone or turn.contact.id)
        ask = self._record.ask(turn, conversation, self._now())
        try:
            return await self._in_a_mood(ask)
        except asyncio.CancelledError:
            ask.end(BotCallEnd.CUT, self._now())
            raise
        except Exception:
            ask.end(BotCallEnd.FAILED, self._now())
            raise

    async def _in_a_mood(self, ask: BotCall) -> Answer:
        mood = self._rng.choices(range(8), self._character.moods)[0]
        if mood in (SHORT, LONG):
            await asyncio.sleep(self._rng.uniform(0.05, 3) if mood == SHORT else self._rng.uniform(5, 18))
        if mood == HANGS:
            await asyncio.Event().wait()
        if mood == FAILS or ask.conversation[1] == self._character.hopeless_with:
            raise BotFailed("it has a bad day", retry_after=self._rng.choice((None, None, 2.0)))
        if mood == CRASHES:
            raise ValueError("a bug of the bot")
        if mood in (HANDS_OVER, IS_SILENT):
            ask.end(BotCallEnd.HANDED_OVER if mood == HANDS_OVER else BotCallEnd.SILENT, self._now())
            return Handover("it wants a person") if mood == HANDS_OVER else None
        ask.end(BotCallEnd.ANSWERED, self._now())
        return self._words(ask)

    def _words(self, ask: BotCall) -> list[str | dict[str, object]]:
        parts = self._rng.choice((1, 1, 1, 2, 3))
        replies = (BotReply(ask.id, ask.turn, part, parts, ask.saw) for part in range(1, parts + 1))
        return [msgspec.json.encode(each).decode() for each in replies]

    async def close(self) -> None:
        """There is nothing to close."""

"""Time, chance and identity: the three things that a step may not make up by itself."""

from __future__ import annotations

from typing import Protocol

from waypost.model.time import Instant, Span


class Clock(Protocol):
    def now(self) -> Instant:
        """This process's idea of the time; it may jump. What must not jump is counted by the Ledger."""

    def monotonic(self) -> float:
        """Seconds that only ever grow, for measuring a stretch inside this process."""

    async def sleep(self, span: Span) -> None:
        """Return after about `span`."""


class Dice(Protocol):
    def unit(self) -> float:
        """A number in [0, 1)."""


class Ids(Protocol):
    def token(self, size: int = 24) -> str:
        """A fresh unguessable word of letters, digits, - and _ made of `size` random bytes."""

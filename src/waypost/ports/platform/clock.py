"""Clock, random source and ids: steps get these from outside, so that simulations are deterministic."""

from __future__ import annotations

from typing import Protocol

from waypost.model.time import Instant, Span


class Clock(Protocol):
    def now(self) -> Instant:
        """This process's time; it may jump. Time that must not jump is measured by the Ledger."""

    def monotonic(self) -> float:
        """Monotonic seconds, to measure durations inside this process."""

    async def sleep(self, span: Span) -> None:
        """Return after about `span`."""


class RandomSource(Protocol):
    def unit(self) -> float:
        """A number in [0, 1)."""


class Ids(Protocol):
    def token(self, size: int = 24) -> str:
        """A fresh unguessable token of letters, digits, - and _ from `size` random bytes."""

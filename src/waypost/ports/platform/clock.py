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


class LedgerTime(Clock, Protocol):
    """A clock whose `now` is the Ledger's time, whatever the clock of this machine shows.

    Windows, expiry, quotas, quiet hours and retries are judged by it, so that all processes judge alike.
    """

    async def trusted(self) -> Instant:
        """`now`, measured again if this machine's clocks disagree about how much time has passed.

        They do after the machine stood still, or after its clock was set. Raises a LedgerError if the Ledger must be
        asked and does not answer. Returns without a pause otherwise.
        """

    async def measure(self) -> Span:
        """Read the Ledger's time and follow it; returns how far this machine's clock is ahead, negative if behind."""


class RandomSource(Protocol):
    def unit(self) -> float:
        """A number in [0, 1)."""


class Ids(Protocol):
    def token(self, size: int = 24) -> str:
        """A fresh unguessable token of letters, digits, - and _ from `size` random bytes."""

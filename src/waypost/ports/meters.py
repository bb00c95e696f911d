"""What a step tells the operator beyond what the ports' own results show."""

from __future__ import annotations

from typing import Protocol

from waypost.model.figures import Survey
from waypost.model.time import Instant
from waypost.ports.failure import LedgerError


class Meters(Protocol):
    def waited(self, seconds: float) -> None:
        """A caller waited this long and saw the status it asked for."""

    def wait_timed_out(self, seconds: float, longest: float) -> None:
        """A caller waited this long in vain; all that is known is that it would have taken longer, up to `longest`."""

    def violated(self, invariant: str, subject: str) -> None:
        """Something was found that must never be."""

    def recent_waits(self) -> list[float]:
        """The latest waits, in seconds; one in vain counts as the longest it could have been."""

    def unknown_code(self, code: str) -> None:
        """The provider gave an error code that no catalogue lists."""

    def provider_unreachable(self, reason: str, now: Instant) -> None:
        """A try found no provider, or got no answer from it."""

    def bot_failed(self, reason: str, org: str, turn: str) -> None:
        """A turn got no answer."""

    def webhook_alert(self, field: str, org: str, number: str, what: str) -> None:
        """The provider told of an account, a number or an error something that a person should know."""

    def stale_at_start(self, turns: int) -> None:
        """A worker that starts found so many turns whose workers had fallen silent."""

    def ledger_failed(self, failure: LedgerError) -> None:
        """The Ledger, or the Log behind it, did not do what a caller or a chore asked of it."""

    def connected(self, devices: int) -> None:
        """So many devices are connected to this process now."""

    def sent_away(self, code: int) -> None:
        """A device's connection was closed by us, and why."""

    def surveyed(self, survey: Survey, now: Instant) -> None:
        """What waits and what is closed, as the Ledger has it now."""

    def log_waits(self, items: int, oldest: float) -> None:
        """So many items of feeds are still to be handed over to the Log, the first since so many seconds."""

    def handed_over(self, messages: int) -> None:
        """The Log has so many more."""

    def kept_back(self, messages: int) -> None:
        """So many are too large for the Log: they stay in the Ledger."""

    def log_failed(self, why: str) -> None:
        """The Log did not take what it was handed; it is tried again."""

    def log_answers(self, trouble: str = "", *, lasting: bool = False) -> None:
        """The Log was asked whether it is there: it is, or what keeps it away. That lasts, or may go by itself."""

    def bodies_emptied(self, bodies: int) -> None:
        """So many bodies are only in the Log from now on."""

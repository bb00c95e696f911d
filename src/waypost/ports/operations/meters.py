"""Metrics of steps that the results of the ports do not show."""

from __future__ import annotations

from typing import Protocol

from waypost.model.queue_stats import QueueSurvey
from waypost.model.time import Instant, Span
from waypost.ports.platform.failure import LedgerError


class Meters(Protocol):
    def waited(self, seconds: float) -> None:
        """A caller waited this long and got the status it asked for."""

    def wait_timed_out(self, seconds: float, longest: float) -> None:
        """A caller's wait timed out; the status would have taken longer, up to `longest`."""

    def violated(self, invariant: str, subject: str) -> None:
        """An invariant was violated."""

    def recent_waits(self) -> list[float]:
        """The latest waits, in seconds; one that timed out counts as its longest possible value."""

    def unknown_code(self, code: str) -> None:
        """The provider returned an error code that no catalogue lists."""

    def provider_unreachable(self, reason: str, now: Instant) -> None:
        """An attempt could not reach the provider, or got no answer."""

    def bot_failed(self, reason: str, org: str, turn: str) -> None:
        """A turn got no answer."""

    def webhook_alert(self, field: str, org: str, number: str, what: str) -> None:
        """The provider reported something about an account, a number or an error that an operator should know."""

    def stale_at_start(self, turns: int) -> None:
        """The number of turns with an ended lease that a worker found at its start."""

    def ledger_answered(self) -> None:
        """Background work has reached the Ledger."""

    def ledger_failed(self, failure: LedgerError) -> None:
        """An operation of the Ledger or of history failed."""

    def clock_is_off(self, ahead: Span) -> None:
        """How far this machine's clock is ahead of the Ledger's; negative if it is behind."""

    def connected(self, devices: int) -> None:
        """The number of devices connected to this process now."""

    def sent_away(self, code: int) -> None:
        """We closed a device's connection with this code."""

    def surveyed(self, survey: QueueSurvey, now: Instant) -> None:
        """Current waiting messages and closed gates."""

    def archive_waits(self, items: int, oldest: float) -> None:
        """The number of feed items still to archive, and the age of the oldest in seconds."""

    def archived(self, messages: int) -> None:
        """This many more messages were archived."""

    def kept_back(self, messages: int) -> None:
        """This many messages are too large for history and stay in the Ledger."""

    def history_failed(self, why: str) -> None:
        """Archiving failed; it will be retried."""

    def history_reachable(self, trouble: str = "", *, lasting: bool = False) -> None:
        """The result of a history check: reachable if `trouble` is empty; `lasting` if an operator must act."""

    def history_forgot(self, messages: int) -> None:
        """The history store did not have this many messages that it had confirmed; they were appended again."""

    def bodies_emptied(self, bodies: int) -> None:
        """This many bodies were removed from the Ledger and are only in history now."""

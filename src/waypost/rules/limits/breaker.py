"""The circuit breaker: stops sending while the provider fails too often."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from waypost.model.gate import GateClosing, GateKind, GateName
from waypost.model.ids import OrgId
from waypost.model.outcome import Accepted, Outcome, ProviderRejected, Unreached, Unsure
from waypost.model.time import Instant, Span, as_seconds, seconds

WATCHED: Span = seconds(30)
FEWEST = 10
RATE = 0.5
_INFRASTRUCTURE = frozenset({"1", "2", "131000", "131016", "133004", "131057"})
"""Codes of provider faults; an invalid recipient does not count."""


def is_failure(outcome: Outcome) -> bool:
    """Whether an attempt counts as a provider failure; a refusal of this one message does not."""
    match outcome:
        case Accepted():
            return False
        case Unreached() | Unsure():
            return True
        case ProviderRejected():
            return outcome.code in _INFRASTRUCTURE


def closing(org: OrgId, name: GateName) -> GateClosing:
    return GateClosing(
        org_id=org,
        name=name,
        kind=GateKind.BREAKER,
        code="PROVIDER_FAILING",
        reason=f"at least {RATE:.0%} of the attempts of the last {as_seconds(WATCHED):.0f} s failed at the provider",
    )


@dataclass(slots=True)
class RecentAttempts:
    """The latest attempts with one provider."""

    attempts: deque[tuple[Instant, bool]] = field(default_factory=deque)
    failures: int = 0

    def add(self, failed: bool, now: Instant) -> bool:
        """True when the breaker should open."""
        self.attempts.append((now, failed))
        self.failures += failed
        while self.attempts[0][0] < now - WATCHED:
            self.failures -= self.attempts.popleft()[1]
        return failed and len(self.attempts) >= FEWEST and self.failures >= RATE * len(self.attempts)

    def clear(self) -> None:
        self.attempts.clear()
        self.failures = 0

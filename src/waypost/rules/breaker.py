"""When a provider fails so often that trying on would only hurt."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from waypost.model.gate import Closing, GateKind, GateName
from waypost.model.ids import OrgId
from waypost.model.outcome import Accepted, Outcome, Rejected, Unreached, Unsure
from waypost.model.time import Instant, Span, as_seconds, seconds

WATCHED: Span = seconds(30)
FEWEST = 10
RATE = 0.5
_INFRASTRUCTURE = frozenset({"1", "2", "131000", "131016", "133004", "131057"})
"""The provider's own troubles; a customer's bad number says nothing about the provider."""


def is_failure(outcome: Outcome) -> bool:
    """Whether a try speaks against the provider; a refusal of this one message is an answer, and speaks for it."""
    match outcome:
        case Accepted():
            return False
        case Unreached() | Unsure():
            return True
        case Rejected():
            return outcome.code in _INFRASTRUCTURE


def closing(org: OrgId, name: GateName) -> Closing:
    return Closing(
        org_id=org,
        name=name,
        kind=GateKind.BREAKER,
        code="PROVIDER_FAILING",
        reason=f"at least {RATE:.0%} of the tries of the last {as_seconds(WATCHED):.0f} s failed at the provider",
    )


@dataclass(slots=True)
class Record:
    """The latest tries with one provider."""

    tries: deque[tuple[Instant, bool]] = field(default_factory=deque)
    failures: int = 0

    def add(self, failed: bool, now: Instant) -> bool:
        """True when the breaker should open."""
        self.tries.append((now, failed))
        self.failures += failed
        while self.tries[0][0] < now - WATCHED:
            self.failures -= self.tries.popleft()[1]
        return failed and len(self.tries) >= FEWEST and self.failures >= RATE * len(self.tries)

    def clear(self) -> None:
        self.tries.clear()
        self.failures = 0

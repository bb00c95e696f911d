"""The invariants by name, and a run's verdict on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

NO_BUG = "no bug"
NO_LOSS = "no loss"
NO_DOUBLE = "no double"
ORDER = "order"
POLICY = "policy"
CLIMBS = "status climbs"
TENANCY = "tenancy"
TURNS = "one turn at a time"
FLOOR = "floor"
SCREENS = "screens"
UNREAD = "unread"
LEAVING = "leaving"
INVARIANTS = (NO_BUG, NO_LOSS, NO_DOUBLE, ORDER, POLICY, CLIMBS, TENANCY, TURNS, FLOOR, SCREENS, UNREAD, LEAVING)


@dataclass(frozen=True)
class Violation:
    invariant: str
    subject: str
    seen: str


@dataclass
class SimulationVerdict:
    seed: int
    checked: Counter[str] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)

    def of(self, invariant: str) -> list[Violation]:
        return [violation for violation in self.violations if violation.invariant == invariant]


SimulationFinding = tuple[str, str]
"""The subject, and what was seen."""

"""The invariants by name, and a run's verdict on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

E = TypeVar("E")

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


def judge(
    seed: int, evidence: E, checkers: Iterable[tuple[str, Callable[[E, Counter[str]], Iterator[SimulationFinding]]]]
) -> SimulationVerdict:
    verdict = SimulationVerdict(seed)
    for invariant, checker in checkers:
        for subject, seen in checker(evidence, verdict.checked):
            verdict.violations.append(Violation(invariant, subject, seen))
    return verdict

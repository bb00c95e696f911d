"""The loss detector's questions in SQL: reading statements only, each on what is committed."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql import rows
from waypost.adapters.sql.engine import Engine
from waypost.ports.detector import Finding, Invariant, Look
from waypost.rules.pacing import Permit

IN_A_RANGE = (
    (Invariant.QUEUED_NOWHERE, "queued_nowhere"),
    (Invariant.PLACED_NOT_QUEUED, "ready_not_queued"),
    (Invariant.PLACED_NOT_QUEUED, "later_not_queued"),
    (Invariant.PLACED_NOT_QUEUED, "line_not_queued"),
    (Invariant.PLACED_TWICE, "placed_twice"),
    (Invariant.STUCK_LINE, "stuck_line"),
    (Invariant.WITHOUT_DELIVERY, "without_delivery"),
    (Invariant.MISFIT_STATUS, "misfit_status"),
    (Invariant.ACCEPTED_TWICE, "accepted_twice"),
    (Invariant.FOREIGN_WAMID, "foreign_wamid"),
    (Invariant.FOREIGN_STATUS, "foreign_status"),
)


class SqlDetector:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def newest(self) -> int:
        ((newest,),) = await self._engine.read("detect_newest")
        return int(newest)

    async def look(self, look: Look) -> Sequence[Finding]:
        span = (look.after, look.upto, look.most)
        found = [
            *await self._asked(Invariant.UNSETTLED, "unsettled", look.unsettled, look.most),
            *await self._asked(Invariant.WITHOUT_CONSENT, "without_consent", *span, look.clock_slack),
        ]
        if look.enforce_window:
            found += await self._asked(Invariant.OUTSIDE_WINDOW, "outside_window", *span, look.accepted_since)
        for invariant, question in IN_A_RANGE:
            found += await self._asked(invariant, question, *span)
        return found

    async def _asked(self, invariant: Invariant, question: str, *arguments: object) -> list[Finding]:
        found = await self._engine.read(f"detect_{question}", *arguments)
        return [Finding(invariant, f"message {row[0]}") for row in found]

    async def quotas(self, most: int) -> Sequence[Permit]:
        return [rows.permit(row) for row in await self._engine.read("detect_quotas", most)]

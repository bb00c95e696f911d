"""The loss detector's questions in SQL: reading statements only, each on what is committed."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql import rows
from waypost.adapters.sql.engine import Engine
from waypost.ports.detector import Finding, Invariant, Look
from waypost.rules.pacing import Permit

IN_A_RANGE = (
    (Invariant.QUEUED_NOWHERE, "detect_queued_nowhere"),
    (Invariant.PLACED_NOT_QUEUED, "detect_ready_not_queued"),
    (Invariant.PLACED_NOT_QUEUED, "detect_later_not_queued"),
    (Invariant.PLACED_NOT_QUEUED, "detect_line_not_queued"),
    (Invariant.PLACED_TWICE, "detect_placed_twice"),
    (Invariant.STUCK_LINE, "detect_stuck_line"),
    (Invariant.WITHOUT_DELIVERY, "detect_without_delivery"),
    (Invariant.MISFIT_STATUS, "detect_misfit_status"),
    (Invariant.ACCEPTED_TWICE, "detect_accepted_twice"),
    (Invariant.FOREIGN_WAMID, "detect_foreign_wamid"),
    (Invariant.FOREIGN_STATUS, "detect_foreign_status"),
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
            *await self._asked(Invariant.UNSETTLED, "detect_unsettled", look.unsettled, look.most),
            *await self._asked(Invariant.WITHOUT_CONSENT, "detect_without_consent", *span, look.clock_slack),
        ]
        if look.enforce_window:
            found += await self._asked(Invariant.OUTSIDE_WINDOW, "detect_outside_window", *span, look.accepted_since)
        for invariant, statement in IN_A_RANGE:
            found += await self._asked(invariant, statement, *span)
        return found

    async def _asked(self, invariant: Invariant, statement: str, *arguments: object) -> list[Finding]:
        found = await self._engine.read(statement, *arguments)
        return [Finding(invariant, f"message {row[0]}") for row in found]

    async def quotas(self, most: int) -> Sequence[Permit]:
        return [rows.permit(row) for row in await self._engine.read("detect_quotas", most)]

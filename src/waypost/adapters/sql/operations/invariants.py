"""The invariant checks in SQL: read-only statements on committed data."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.rows import gate_rows
from waypost.model.time import Instant
from waypost.ports.operations.invariants import ConversationScan, Invariant, InvariantFinding, LateTurn, MessageScan
from waypost.rules.limits.send_pace import Permit

INBOUND_AT_ONCE = 2_000
"""The latest inbound messages and posts, checked every time."""
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


IN_CONVERSATIONS = (
    (Invariant.TURNS_OVERLAP, "turns_overlap"),
    (Invariant.TURNS_OVERLAP, "turns_not_done"),
    (Invariant.TURNS_GAP, "turns_gap"),
    (Invariant.ANSWERED_TWICE, "answered_twice"),
    (Invariant.ANSWERED_TWICE, "answered_not_done"),
    (Invariant.TURN_NOWHERE, "turn_nowhere"),
)


class SqlDetector:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def newest(self) -> int:
        ((newest,),) = await self._engine.read("detect_newest")
        return int(newest)

    async def look(self, look: MessageScan) -> Sequence[InvariantFinding]:
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

    async def _asked(self, invariant: Invariant, question: str, *arguments: object) -> list[InvariantFinding]:
        found = await self._engine.read(f"detect_{question}", *arguments)
        return [InvariantFinding(invariant, f"message {row[0]}") for row in found]

    async def newest_conversation(self) -> int:
        ((newest,),) = await self._engine.read("detect_newest_conversation")
        return int(newest)

    async def conversations(self, look: ConversationScan) -> Sequence[InvariantFinding]:
        span = (look.after, look.upto, look.most)
        found = await self._of_conversations(Invariant.ENTRY_GAP, "entry_gap", *span, look.latest)
        found += await self._of_conversations(
            Invariant.ARRIVAL_WITHOUT_ENTRY, "arrival_without_entry", look.arrived_since, INBOUND_AT_ONCE, look.most
        )
        found += await self._of_conversations(
            Invariant.POST_WITHOUT_ENTRY, "post_without_entry", look.arrived_since, INBOUND_AT_ONCE, look.most
        )
        for invariant, question in IN_CONVERSATIONS:
            found += await self._of_conversations(invariant, question, *span)
        return found

    async def _of_conversations(
        self, invariant: Invariant, question: str, *arguments: object
    ) -> list[InvariantFinding]:
        found = await self._engine.read(f"detect_{question}", *arguments)
        return [InvariantFinding(invariant, f"conversation {row[0]}") for row in found]

    async def feeds(self, after: str, feeds: int, latest: int) -> tuple[Sequence[InvariantFinding], str | None]:
        found = await self._engine.read("detect_feeds", after, feeds, latest)
        gaps = [
            InvariantFinding(Invariant.FEED_GAP, f"feed {name}") for name, items, wanted in found if items != wanted
        ]
        return gaps, found[-1][0] if len(found) == feeds else None

    async def late(self, due_before: Instant, lease_before: Instant, most: int) -> Sequence[LateTurn]:
        due = await self._engine.read("detect_overdue", due_before, most)
        held = await self._engine.read("detect_abandoned", lease_before, most)
        return [
            LateTurn(invariant=invariant, conversation_id=row[0], fence=row[1], since=row[2])
            for invariant, rows_ in ((Invariant.TURN_OVERDUE, due), (Invariant.TURN_ABANDONED, held))
            for row in rows_
        ]

    async def quotas(self, most: int) -> Sequence[Permit]:
        return [gate_rows.permit(row) for row in await self._engine.read("detect_quotas", most)]

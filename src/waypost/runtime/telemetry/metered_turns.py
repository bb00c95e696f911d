"""Counts claims and ends of turns; passes everything else through."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.model.conversation import ConversationId, TurnClaim, TurnTiming
from waypost.model.ids import Fence
from waypost.model.time import Instant, Span, as_seconds
from waypost.ports.conversations.turn_queue import (
    TurnAnswer,
    TurnCommitted,
    TurnDeadLettered,
    TurnDemand,
    TurnPostponed,
    TurnQueue,
    TurnTimingOf,
)
from waypost.rules.conversations.turn_state import LeaseLost
from waypost.runtime.telemetry.telemetry import Telemetry


class MeteredTurnQueue:
    def __init__(self, turns: TurnQueue, telemetry: Telemetry) -> None:
        self._turns = turns
        self._telemetry = telemetry
        self._held: dict[ConversationId, Fence] = {}
        """Turns that this process has claimed and that have not ended."""
        self.abandon = turns.abandon
        self.take_floor = turns.take_floor
        self.hand_back = turns.hand_back
        self.next_due = turns.next_due
        self.stale = turns.stale
        self.open = turns.open
        self.failed = turns.failed
        self.ended = turns.ended
        self.replay = turns.replay
        self.forget = turns.forget
        self.history = turns.history

    async def claim(self, demand: TurnDemand, times_of: TurnTimingOf, now: Instant) -> Sequence[TurnClaim]:
        claims = await self._turns.claim(demand, times_of, now)
        for claim in claims:
            self._held[claim.turn_state.conversation_id] = claim.turn_state.fence
            if claim.taken_over:
                self._telemetry.takeovers.inc()
            if claim.due_at is not None:
                self._telemetry.turn_wait.observe(_seconds(claim.due_at, now))
        self._show()
        return claims

    async def commit(self, claim: TurnClaim, answered: TurnAnswer, now: Instant) -> TurnCommitted | LeaseLost:
        done = await self._turns.commit(claim, answered, now)
        self._over(claim)
        if isinstance(done, TurnCommitted):
            self._thought(claim, now)
            self._telemetry.turns.labels(_state(done, answered)).inc()
        return done

    async def fail(
        self,
        claim: TurnClaim,
        error: str,
        times: TurnTiming,
        now: Instant,
        *,
        hopeless: bool = False,
        wait: Span | None = None,
    ) -> TurnPostponed | TurnDeadLettered | LeaseLost:
        failed = await self._turns.fail(claim, error, times, now, hopeless=hopeless, wait=wait)
        self._over(claim)
        if not isinstance(failed, LeaseLost):
            self._thought(claim, now)
        if isinstance(failed, TurnDeadLettered):
            self._telemetry.turns.labels("failed").inc()
        return failed

    async def renew(self, held: Sequence[tuple[ConversationId, Fence, Span]], now: Instant) -> set[ConversationId]:
        ours = await self._turns.renew(held, now)
        for conversation, fence, _ in held:
            if conversation not in ours:
                self._forget(conversation, fence)
        self._show()
        return ours

    async def let_go(self, claims: Sequence[TurnClaim], now: Instant) -> None:
        await self._turns.let_go(claims, now)
        for claim in claims:
            self._over(claim)

    def _over(self, claim: TurnClaim) -> None:
        self._forget(claim.turn_state.conversation_id, claim.turn_state.fence)
        self._show()

    def _forget(self, conversation: ConversationId, fence: Fence) -> None:
        """Unless this process has claimed it again since."""
        if self._held.get(conversation) == fence:
            del self._held[conversation]

    def _show(self) -> None:
        self._telemetry.active.set(len(self._held))

    def _thought(self, claim: TurnClaim, now: Instant) -> None:
        self._telemetry.thinking.observe(_seconds(claim.turn_state.claimed_at or now, now))


def _state(done: TurnCommitted, answered: TurnAnswer) -> str:
    if answered.hand_over is not None:
        return "handed_over"
    return "answered" if done.replies else "silent"


def _seconds(since: Instant, now: Instant) -> float:
    return max(0.0, as_seconds(now - since))

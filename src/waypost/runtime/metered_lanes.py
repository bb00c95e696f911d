"""The lanes with their claims and ends counted; everything else passes through."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.model.conversation import Claim, ConversationId, Times
from waypost.model.ids import Fence
from waypost.model.time import Instant, Span, as_seconds
from waypost.ports.lanes import (
    Answered,
    Committed,
    GivenUp,
    Lanes,
    Postponed,
    TimesOf,
    TurnDemand,
)
from waypost.rules.lane import LeaseLost
from waypost.runtime.telemetry import Telemetry


class MeteredLanes:
    def __init__(self, lanes: Lanes, telemetry: Telemetry) -> None:
        self._lanes = lanes
        self._telemetry = telemetry
        self._held: dict[ConversationId, Fence] = {}
        """What this process has claimed, and has not heard to be over."""
        self.abandon = lanes.abandon
        self.take_floor = lanes.take_floor
        self.hand_back = lanes.hand_back
        self.next_due = lanes.next_due
        self.stale = lanes.stale
        self.open = lanes.open
        self.failed = lanes.failed
        self.ended = lanes.ended
        self.replay = lanes.replay
        self.forget = lanes.forget
        self.history = lanes.history

    async def claim(self, demand: TurnDemand, times_of: TimesOf, now: Instant) -> Sequence[Claim]:
        claims = await self._lanes.claim(demand, times_of, now)
        for claim in claims:
            self._held[claim.lane.conversation_id] = claim.lane.fence
            if claim.taken_over:
                self._telemetry.takeovers.inc()
            if claim.due_at is not None:
                self._telemetry.turn_wait.observe(_seconds(claim.due_at, now))
        self._show()
        return claims

    async def commit(self, claim: Claim, answered: Answered, now: Instant) -> Committed | LeaseLost:
        done = await self._lanes.commit(claim, answered, now)
        self._over(claim)
        if isinstance(done, Committed):
            self._thought(claim, now)
            self._telemetry.turns.labels(_state(done, answered)).inc()
        return done

    async def fail(
        self, claim: Claim, error: str, times: Times, now: Instant, *, hopeless: bool = False, wait: Span | None = None
    ) -> Postponed | GivenUp | LeaseLost:
        failed = await self._lanes.fail(claim, error, times, now, hopeless=hopeless, wait=wait)
        self._over(claim)
        if not isinstance(failed, LeaseLost):
            self._thought(claim, now)
        if isinstance(failed, GivenUp):
            self._telemetry.turns.labels("failed").inc()
        return failed

    async def renew(self, held: Sequence[tuple[ConversationId, Fence, Span]], now: Instant) -> set[ConversationId]:
        ours = await self._lanes.renew(held, now)
        for conversation, fence, _ in held:
            if conversation not in ours:
                self._forget(conversation, fence)
        self._show()
        return ours

    async def let_go(self, claims: Sequence[Claim], now: Instant) -> None:
        await self._lanes.let_go(claims, now)
        for claim in claims:
            self._over(claim)

    def _over(self, claim: Claim) -> None:
        self._forget(claim.lane.conversation_id, claim.lane.fence)
        self._show()

    def _forget(self, conversation: ConversationId, fence: Fence) -> None:
        """Unless this process has claimed it anew since."""
        if self._held.get(conversation) == fence:
            del self._held[conversation]

    def _show(self) -> None:
        self._telemetry.active.set(len(self._held))

    def _thought(self, claim: Claim, now: Instant) -> None:
        self._telemetry.thinking.observe(_seconds(claim.lane.claimed_at or now, now))


def _state(done: Committed, answered: Answered) -> str:
    if answered.hand_over is not None:
        return "handed_over"
    return "answered" if done.replies else "silent"


def _seconds(since: Instant, now: Instant) -> float:
    return max(0.0, as_seconds(now - since))

"""Small bugs of lanes, one per mutation: each must be seen by the checker that is there for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace as with_parts
from typing import Any

import pytest
from msgspec.structs import replace

from tests.simulation.naive_mechanisms import Overlay
from waypost.adapters.sql.kernel import kernel, turn_intents
from waypost.adapters.sql.kernel.conversation_work import ConversationWork
from waypost.flow.conversations import answer_turn
from waypost.model.conversation import ConversationId, Entry, InboundMessage, Position, TurnClaim, TurnState, TurnTiming
from waypost.model.ids import Fence, WorkerId
from waypost.model.message import Draft
from waypost.model.time import Instant
from waypost.model.turn import TurnMessage
from waypost.ports.conversations.turn_queue import TurnAnswer, TurnCommitted, TurnDemand, TurnTimingOf
from waypost.rules.conversations import bot_context
from waypost.rules.conversations import turn_state as rule
from waypost.rules.conversations.turn_state import LeaseLost
from waypost_testing.stories.cluster import CustomiseParts, ServerParts, unchanged_parts


def a_commit_without_the_fence(patch: pytest.MonkeyPatch) -> CustomiseParts:
    def held_by_anybody(lane: TurnState, fence: Fence) -> bool:
        return lane.hi is not None

    patch.setattr(rule, "holds", held_by_anybody)
    patch.setattr(kernel, "holds", held_by_anybody)
    return unchanged_parts


def a_turn_that_is_done_before_its_answer_exists(_: pytest.MonkeyPatch) -> CustomiseParts:
    def dress(parts: ServerParts) -> ServerParts:
        lanes = parts.ledger.turn_queue

        async def claim(demand: TurnDemand, times_of: TurnTimingOf, now: Instant) -> Sequence[TurnClaim]:
            claims = await lanes.claim(demand, times_of, now)
            for each in claims:
                await lanes.commit(each, TurnAnswer(), now)
            return claims

        async def commit(claim: TurnClaim, answered: TurnAnswer, now: Instant) -> TurnCommitted | LeaseLost:
            sent = [await parts.ledger.outbox.submit(draft, now) for draft in answered.drafts]
            return TurnCommitted(claim.turn_state, [each.message.id for each in sent], 0)  # type: ignore[union-attr]

        return with_parts(parts, ledger=Overlay(parts.ledger, turn_queue=Overlay(lanes, claim=claim, commit=commit)))

    return dress


def a_claim_that_forgets_its_burst(patch: pytest.MonkeyPatch) -> CustomiseParts:
    """Whoever takes over takes what is there by then."""
    real_claim = rule.claim

    def claim(
        lane: TurnState, owner: WorkerId, now: Instant, times: TurnTiming, end: Position | None = None
    ) -> TurnState:
        taken = real_claim(lane, owner, now, times, end)
        return taken if taken is lane else replace(taken, hi=taken.tail)

    patch.setattr(rule, "claim", claim)
    return unchanged_parts


def a_bot_that_is_shown_the_last_messages_of_a_burst(patch: pytest.MonkeyPatch) -> CustomiseParts:
    """The turn takes the whole burst, and the rest of it is done unseen."""
    return _shown_in_part(patch, slice(-rule.MOST_MESSAGES, None))


def a_bot_that_is_shown_the_first_messages_of_a_burst(patch: pytest.MonkeyPatch) -> CustomiseParts:
    return _shown_in_part(patch, slice(rule.MOST_MESSAGES))


def _shown_in_part(patch: pytest.MonkeyPatch, part: slice) -> CustomiseParts:
    real_burst = bot_context.burst

    def burst(entries: Iterable[Entry], files: Mapping[int, str]) -> list[TurnMessage]:
        return real_burst(entries, files)[part]

    patch.setattr(rule, "is_long", lambda state: False)
    patch.setattr(bot_context, "burst", burst)
    return unchanged_parts


def an_arrival_that_is_not_noted_while_the_bot_thinks(patch: pytest.MonkeyPatch) -> CustomiseParts:
    real_arrive = rule.arrive

    def arrive(lane: TurnState, position: Position, now: Instant, times: TurnTiming) -> TurnState:
        return lane if lane.owner is not None else real_arrive(lane, position, now, times)

    patch.setattr(rule, "arrive", arrive)
    return unchanged_parts


def a_commit_that_does_not_arm_again(patch: pytest.MonkeyPatch) -> CustomiseParts:
    real_commit = rule.commit

    def commit(lane: TurnState, fence: Fence, now: Instant) -> TurnState | LeaseLost:
        after = real_commit(lane, fence, now)
        return after if isinstance(after, LeaseLost) else replace(after, first_at=None, due_at=None)

    patch.setattr(rule, "commit", commit)
    return unchanged_parts


def a_floor_that_does_not_fence(patch: pytest.MonkeyPatch) -> CustomiseParts:
    """The one who thinks keeps the turn, and commits it."""

    def hand_over(lane: TurnState, holder: str) -> TurnState:
        return replace(lane, floor=holder, due_at=None)

    patch.setattr(rule, "take_floor", hand_over)
    return unchanged_parts


def a_floor_that_leaves_queued_replies(patch: pytest.MonkeyPatch) -> CustomiseParts:
    patch.setattr(turn_intents.TransferFloor, "_silence", lambda self, work: [])
    return unchanged_parts


def a_webhook_that_is_not_recognised(patch: pytest.MonkeyPatch) -> CustomiseParts:
    """Neither by looking for it nor by the unique key."""
    real_arrive = ConversationWork.arrive

    def arrive(self: ConversationWork, told: InboundMessage, now: Instant) -> ConversationId | None:
        self.known.discard((told.number, told.wamid))
        where = real_arrive(self, told, now)
        self.inbound_rows.clear()
        return where

    patch.setattr(ConversationWork, "arrive", arrive)
    return unchanged_parts


def replies_that_are_not_queued_in_order(patch: pytest.MonkeyPatch) -> CustomiseParts:
    real_drafts = answer_turn.drafts

    def drafts(claim: TurnClaim, payloads: Sequence[dict[str, Any]]) -> tuple[Draft, ...]:
        return tuple(replace(draft, ordered=False) for draft in real_drafts(claim, payloads))

    patch.setattr(answer_turn, "drafts", drafts)
    return unchanged_parts

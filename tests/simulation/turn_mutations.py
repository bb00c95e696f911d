"""Small bugs of lanes, one per mutation: each must be seen by the checker that is there for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_parts
from typing import Any

import pytest
from msgspec.structs import replace

from tests.simulation.naive_mechanisms import Overlay
from waypost.adapters.sql import kernel, turns
from waypost.adapters.sql.talks import Talks
from waypost.flow import converse
from waypost.model.conversation import Arrival, Claim, ConversationId, Lane, Position, Times
from waypost.model.ids import Fence, WorkerId
from waypost.model.message import Draft
from waypost.model.time import Instant
from waypost.ports.lanes import Answered, Committed, TimesOf, TurnDemand
from waypost.rules import lane as rule
from waypost.rules.lane import LeaseLost
from waypost.runtime.simulation.cluster import Dress, Parts, real


def a_commit_without_the_fence(patch: pytest.MonkeyPatch) -> Dress:
    def held_by_anybody(lane: Lane, fence: Fence) -> bool:
        return lane.hi is not None

    patch.setattr(rule, "holds", held_by_anybody)
    patch.setattr(kernel, "holds", held_by_anybody)
    return real


def a_turn_that_is_done_before_its_answer_exists(_: pytest.MonkeyPatch) -> Dress:
    def dress(parts: Parts) -> Parts:
        lanes = parts.ledger.lanes

        async def claim(demand: TurnDemand, times_of: TimesOf, now: Instant) -> Sequence[Claim]:
            claims = await lanes.claim(demand, times_of, now)
            for each in claims:
                await lanes.commit(each, Answered(), now)
            return claims

        async def commit(claim: Claim, answered: Answered, now: Instant) -> Committed | LeaseLost:
            sent = [await parts.ledger.outbox.submit(draft, now) for draft in answered.drafts]
            return Committed(claim.lane, [each.message.id for each in sent], 0)  # type: ignore[union-attr]

        return with_parts(parts, ledger=Overlay(parts.ledger, lanes=Overlay(lanes, claim=claim, commit=commit)))

    return dress


def a_claim_that_forgets_its_burst(patch: pytest.MonkeyPatch) -> Dress:
    """Whoever takes over takes what is there by then."""
    real_claim = rule.claim

    def claim(lane: Lane, owner: WorkerId, now: Instant, times: Times) -> Lane:
        taken = real_claim(lane, owner, now, times)
        return taken if taken is lane else replace(taken, hi=taken.tail)

    patch.setattr(rule, "claim", claim)
    return real


def an_arrival_that_is_not_noted_while_the_bot_thinks(patch: pytest.MonkeyPatch) -> Dress:
    real_arrive = rule.arrive

    def arrive(lane: Lane, position: Position, now: Instant, times: Times) -> Lane:
        return lane if lane.owner is not None else real_arrive(lane, position, now, times)

    patch.setattr(rule, "arrive", arrive)
    return real


def a_commit_that_does_not_arm_again(patch: pytest.MonkeyPatch) -> Dress:
    real_commit = rule.commit

    def commit(lane: Lane, fence: Fence, now: Instant) -> Lane | LeaseLost:
        after = real_commit(lane, fence, now)
        return after if isinstance(after, LeaseLost) else replace(after, first_at=None, due_at=None)

    patch.setattr(rule, "commit", commit)
    return real


def a_floor_that_does_not_fence(patch: pytest.MonkeyPatch) -> Dress:
    """The one who thinks keeps the turn, and commits it."""

    def hand_over(lane: Lane, holder: str) -> Lane:
        return replace(lane, floor=holder, due_at=None)

    patch.setattr(rule, "hand_over", hand_over)
    return real


def a_floor_that_leaves_queued_replies(patch: pytest.MonkeyPatch) -> Dress:
    patch.setattr(turns.GiveFloor, "_silence", lambda self, work: [])
    return real


def a_webhook_that_is_not_recognised(patch: pytest.MonkeyPatch) -> Dress:
    """Neither by looking for it nor by the unique key."""
    real_arrive = Talks.arrive

    def arrive(self: Talks, told: Arrival, now: Instant) -> ConversationId | None:
        self.known.discard((told.number, told.wamid))
        where = real_arrive(self, told, now)
        self.arrivals.clear()
        return where

    patch.setattr(Talks, "arrive", arrive)
    return real


def replies_that_are_not_queued_in_order(patch: pytest.MonkeyPatch) -> Dress:
    real_drafts = converse.drafts

    def drafts(claim: Claim, payloads: Sequence[dict[str, Any]]) -> tuple[Draft, ...]:
        return tuple(replace(draft, ordered=False) for draft in real_drafts(claim, payloads))

    patch.setattr(converse, "drafts", drafts)
    return real

"""Intents on a conversation's turn state: commit, fail, release, transfer the floor, replay."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from waypost.adapters.sql.kernel.conversation_work import NewEntry
from waypost.adapters.sql.kernel.intent import Keys
from waypost.adapters.sql.kernel.transaction_state import TransactionState
from waypost.model.audit import AuditAction, AuditEntry, Entity
from waypost.model.conversation import ANYBODY, BOT, ConversationId, EndedTurn, TurnClaim, TurnState, TurnTiming
from waypost.model.ids import MessageId, OrgId
from waypost.model.message import Draft, Status
from waypost.model.time import Instant, Span
from waypost.ports.conversations.turn_queue import (
    FloorTaken,
    NoConversation,
    TurnAnswer,
    TurnCommitted,
    TurnDeadLettered,
    TurnPostponed,
)
from waypost.rules.content.payload import kind_of
from waypost.rules.conversations import turn_state
from waypost.rules.conversations.turn_state import LeaseLost, TurnGivenUp, TurnRetried
from waypost.rules.sending import delivery

_TAKEN_OVER = "a person took over the conversation"
ANSWERED, SILENT, HANDED_OVER, FAILED = "answered", "silent", "handed_over", "failed"


@dataclass(frozen=True, slots=True)
class CommitTurn:
    """Store the replies and end the turn, or change nothing."""

    claim: TurnClaim
    answered: TurnAnswer
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.conversations.add(self.claim.turn_state.conversation_id)
        keys.promised.append((self.claim, self.answered.drafts, self.now))

    def decide(self, work: TransactionState) -> TurnCommitted | LeaseLost:
        where = self.claim.turn_state.conversation_id
        if where not in work.conversations.held:
            return LeaseLost()
        after = turn_state.commit(work.conversations.turn_states[where], self.claim.turn_state.fence, self.now)
        if isinstance(after, LeaseLost):
            return after
        replies = [sent for draft in self.answered.drafts if (sent := self._add_reply(draft, work)) is not None]
        blocked = len(self.answered.drafts) - len(replies)
        state, error = ANSWERED if replies else SILENT, self._obstacle(work) if blocked else None
        if self.answered.hand_over is not None:
            after = turn_state.take_floor(after, ANYBODY)
            state, error = HANDED_OVER, self.answered.hand_over or None
        work.conversations.turn(after)
        work.conversations.turns.append(ended_turn(self.claim, state, len(replies), error, self.now))
        if after.floor != self.claim.turn_state.floor:
            add_floor_items(after, self.now, work)
            work.audited.append(floor_entry(after, BOT, self.now, f"from bot to {after.floor}: {error or 'no reason'}"))
        return TurnCommitted(after, replies, blocked)

    def _obstacle(self, work: TransactionState) -> str:
        taken = any(_is_taken(draft, work) for draft in self.answered.drafts)
        return "another message was stored under a reply's idempotency key" if taken else "consent was revoked"

    def _add_reply(self, draft: Draft, work: TransactionState) -> MessageId | None:
        stored = work.stored.get((draft.org_id, draft.idempotency_key))
        if stored is None or _is_taken(draft, work):
            return None
        where = self.claim.turn_state.conversation_id
        entry = NewEntry(BOT, kind_of(draft.payload), draft.payload, self.now, message_id=stored[0])
        work.conversations.add_entry(where, entry, self.now)
        unsent = work.conversations.unsent.setdefault(where, set())
        unsent.add(stored[0])  # a user may take the floor in the same batch
        return stored[0]


def _is_taken(draft: Draft, work: TransactionState) -> bool:
    """A different message is stored under the draft's key."""
    _, digest, fresh = work.stored.get((draft.org_id, draft.idempotency_key), (None, draft.digest, False))
    return not fresh and digest != draft.digest


def ended_turn(claim: TurnClaim, state: str, replies: int, error: str | None, now: Instant) -> EndedTurn:
    held = claim.turn_state
    return EndedTurn(
        conversation_id=held.conversation_id,
        lo=held.done,
        hi=held.hi or held.tail,
        org_id=held.org_id,
        state=state,
        replies=replies,
        tries=held.tries + 1,
        fence=held.fence,
        started_at=held.claimed_at or now,
        ended_at=now,
        error=error,
    )


def floor_entry(after: TurnState, actor: str, now: Instant, details: str) -> AuditEntry:
    return AuditEntry(
        org_id=after.org_id,
        at=now,
        entity_type=Entity.CONVERSATION,
        entity_id=str(after.conversation_id),
        action=AuditAction.FLOOR_CHANGED,
        actor=actor,
        details=details,
    )


def add_floor_items(after: TurnState, now: Instant, work: TransactionState) -> None:
    work.conversations.add_feed_items(
        after.conversation_id, "floor", now, body=msgspec.json.encode({"floor": after.floor}).decode()
    )


@dataclass(frozen=True, slots=True)
class FailTurn:
    claim: TurnClaim
    error: str
    times: TurnTiming
    now: Instant
    hopeless: bool
    wait: Span | None

    def needs(self, keys: Keys) -> None:
        keys.conversations.add(self.claim.turn_state.conversation_id)

    def decide(self, work: TransactionState) -> TurnPostponed | TurnDeadLettered | LeaseLost:
        before = work.conversations.turn_states.get(self.claim.turn_state.conversation_id)
        if before is None:
            return LeaseLost()
        failed = turn_state.fail(
            before, self.claim.turn_state.fence, self.now, self.times, hopeless=self.hopeless, wait=self.wait
        )
        if isinstance(failed, LeaseLost):
            return failed
        work.conversations.turn(failed.turn_state)
        if isinstance(failed, TurnRetried):
            return TurnPostponed(failed.turn_state.due_at or self.now)
        return self._give_up(failed, before, work)

    def _give_up(self, dead: TurnGivenUp, before: TurnState, work: TransactionState) -> TurnDeadLettered:
        work.conversations.turns.append(ended_turn(self.claim, FAILED, 0, self.error, self.now))
        if dead.turn_state.floor != before.floor:
            add_floor_items(dead.turn_state, self.now, work)
            why = f"from bot to {dead.turn_state.floor}: the turn was given up: {self.error}"
            work.audited.append(floor_entry(dead.turn_state, BOT, self.now, why))
        return TurnDeadLettered(dead.turn_state.floor)


@dataclass(frozen=True, slots=True)
class ReleaseTurns:
    claims: tuple[TurnClaim, ...]
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.conversations.update(claim.turn_state.conversation_id for claim in self.claims)

    def decide(self, work: TransactionState) -> None:
        for claim in self.claims:
            before = work.conversations.turn_states.get(claim.turn_state.conversation_id)
            if before is not None:
                work.conversations.turn(turn_state.release_turn(before, claim.turn_state.fence, self.now))


@dataclass(frozen=True, slots=True)
class TransferFloor:
    """Give the floor to a user or back to the bot; when a user takes it, the bot's unsent replies are
    cancelled, and those under way are not tried again."""

    org: OrgId
    conversation: ConversationId
    holder: str
    times: TurnTiming
    now: Instant
    actor: str

    def needs(self, keys: Keys) -> None:
        keys.conversations.add(self.conversation)
        if self.holder != BOT:
            keys.silenced.add(self.conversation)

    def decide(self, work: TransactionState) -> FloorTaken | NoConversation:
        before = work.conversations.turn_states.get(self.conversation)
        if before is None or before.org_id != self.org:
            return NoConversation()
        if before.floor == self.holder:
            return FloorTaken(before, [])
        if self.holder == BOT:
            after = turn_state.hand_back(before, self.now, self.times)
        else:
            after = turn_state.take_floor(before, self.holder)
        work.conversations.turn(after)
        add_floor_items(after, self.now, work)
        work.audited.append(floor_entry(after, self.actor, self.now, f"from {before.floor} to {self.holder}"))
        return FloorTaken(after, self._silence(work) if self.holder != BOT else [])

    def _silence(self, work: TransactionState) -> list[MessageId]:
        cancelled = []
        for message_id in sorted(work.conversations.unsent.get(self.conversation, ())):
            known = work.deliveries.get(message_id)
            if known is None or known.org_id != self.org:
                continue
            after = delivery.withdraw(known, delivery.TAKEN_OVER, _TAKEN_OVER, self.now)
            work.change(after, self.now)
            if known.status is Status.QUEUED:
                work.note(message_id, self.now, "cancelled", _TAKEN_OVER)
                cancelled.append(message_id)
        return cancelled


@dataclass(frozen=True, slots=True)
class ReplayTurn:
    """Reopen a given-up turn, if nothing was answered since."""

    org: OrgId
    turn: EndedTurn
    now: Instant
    actor: str

    def needs(self, keys: Keys) -> None:
        keys.conversations.add(self.turn.conversation_id)

    def decide(self, work: TransactionState) -> TurnState | NoConversation | LeaseLost:
        before = work.conversations.turn_states.get(self.turn.conversation_id)
        if before is None or before.org_id != self.org:
            return NoConversation()
        after = turn_state.reopen(before, self.turn.lo, self.turn.hi, self.now)
        if isinstance(after, LeaseLost):
            return after
        work.conversations.turn(after)
        work.conversations.reopened.append((self.turn.conversation_id, self.turn.hi))
        if after.floor != before.floor:
            add_floor_items(after, self.now, work)
        work.audited.append(
            AuditEntry(
                org_id=self.org,
                at=self.now,
                entity_type=Entity.CONVERSATION,
                entity_id=str(self.turn.conversation_id),
                action=AuditAction.REPLAYED,
                actor=self.actor,
                details=f"the turn up to message {self.turn.hi}, given up with: {self.turn.error or 'no reason'}",
            )
        )
        return after

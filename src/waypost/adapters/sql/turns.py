"""What may be asked of a conversation's lane, in one transaction with everything else that is decided."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from waypost.adapters.sql.intents import Keys
from waypost.adapters.sql.talks import Saying
from waypost.adapters.sql.work import Work
from waypost.model.audit import Action, Entity, Entry
from waypost.model.conversation import ANYBODY, BOT, Claim, ConversationId, EndedTurn, Lane, Times
from waypost.model.ids import MessageId, OrgId
from waypost.model.message import Draft
from waypost.model.time import Instant, Span
from waypost.ports.lanes import Answered, Committed, FloorTaken, GivenUp, NoConversation, Postponed
from waypost.rules import delivery, lane
from waypost.rules.lane import Again, Dead, LeaseLost
from waypost.rules.payload import kind_of

TAKEN_OVER = "TAKEN_OVER"
_TAKEN_OVER = "a person took over the conversation"
ANSWERED, SILENT, HANDED_OVER, FAILED = "answered", "silent", "handed_over", "failed"


@dataclass(frozen=True, slots=True)
class CommitTurn:
    """The replies and the end of the turn, or nothing at all."""

    claim: Claim
    answered: Answered
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.talks.add(self.claim.lane.conversation_id)
        keys.promised.append((self.claim, self.answered.drafts, self.now))

    def decide(self, work: Work) -> Committed | LeaseLost:
        where = self.claim.lane.conversation_id
        if where not in work.talks.held:
            return LeaseLost()
        after = lane.commit(work.talks.lanes[where], self.claim.lane.fence, self.now)
        if isinstance(after, LeaseLost):
            return after
        replies = [sent for draft in self.answered.drafts if (sent := self._say(draft, work)) is not None]
        blocked = len(self.answered.drafts) - len(replies)
        state, error = ANSWERED if replies else SILENT, self._obstacle(work) if blocked else None
        if self.answered.hand_over is not None:
            after = lane.hand_over(after, ANYBODY)
            state, error = HANDED_OVER, self.answered.hand_over or None
        work.talks.turn(after)
        work.talks.turns.append(ended(self.claim, state, len(replies), error, self.now))
        if after.floor != self.claim.lane.floor:
            tell_floor(after, self.now, work)
            work.audited.append(floor_entry(after, BOT, self.now, f"from bot to {after.floor}: {error or 'no reason'}"))
        return Committed(after, replies, blocked)

    def _obstacle(self, work: Work) -> str:
        taken = any(_is_taken(draft, work) for draft in self.answered.drafts)
        return "another message was stored under a reply's idempotency key" if taken else "consent was revoked"

    def _say(self, draft: Draft, work: Work) -> MessageId | None:
        stored = work.stored.get((draft.org_id, draft.idempotency_key))
        if stored is None or _is_taken(draft, work):
            return None
        where = self.claim.lane.conversation_id
        said = Saying(BOT, kind_of(draft.payload), draft.payload, self.now, message_id=stored[0])
        work.talks.say(where, said, self.now)
        work.talks.unsent.setdefault(where, set()).add(stored[0])  # somebody may take the floor in the same moment
        return stored[0]


def _is_taken(draft: Draft, work: Work) -> bool:
    """Somebody stored something else under its key."""
    _, digest, fresh = work.stored.get((draft.org_id, draft.idempotency_key), (None, draft.digest, False))
    return not fresh and digest != draft.digest


def ended(claim: Claim, state: str, replies: int, error: str | None, now: Instant) -> EndedTurn:
    held = claim.lane
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


def floor_entry(after: Lane, actor: str, now: Instant, details: str) -> Entry:
    return Entry(
        org_id=after.org_id,
        at=now,
        entity_type=Entity.CONVERSATION,
        entity_id=str(after.conversation_id),
        action=Action.FLOOR_CHANGED,
        actor=actor,
        details=details,
    )


def tell_floor(after: Lane, now: Instant, work: Work) -> None:
    work.talks.tell(after.conversation_id, "floor", now, body=msgspec.json.encode({"floor": after.floor}).decode())


@dataclass(frozen=True, slots=True)
class FailTurn:
    claim: Claim
    error: str
    times: Times
    now: Instant
    hopeless: bool
    wait: Span | None

    def needs(self, keys: Keys) -> None:
        keys.talks.add(self.claim.lane.conversation_id)

    def decide(self, work: Work) -> Postponed | GivenUp | LeaseLost:
        before = work.talks.lanes.get(self.claim.lane.conversation_id)
        if before is None:
            return LeaseLost()
        failed = lane.fail(before, self.claim.lane.fence, self.now, self.times, hopeless=self.hopeless, wait=self.wait)
        if isinstance(failed, LeaseLost):
            return failed
        work.talks.turn(failed.lane)
        if isinstance(failed, Again):
            return Postponed(failed.lane.due_at or self.now)
        return self._give_up(failed, before, work)

    def _give_up(self, dead: Dead, before: Lane, work: Work) -> GivenUp:
        work.talks.turns.append(ended(self.claim, FAILED, 0, self.error, self.now))
        if dead.lane.floor != before.floor:
            tell_floor(dead.lane, self.now, work)
            why = f"from bot to {dead.lane.floor}: the turn was given up: {self.error}"
            work.audited.append(floor_entry(dead.lane, BOT, self.now, why))
        return GivenUp(dead.lane.floor)


@dataclass(frozen=True, slots=True)
class LetGo:
    claims: tuple[Claim, ...]
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.talks.update(claim.lane.conversation_id for claim in self.claims)

    def decide(self, work: Work) -> None:
        for claim in self.claims:
            before = work.talks.lanes.get(claim.lane.conversation_id)
            if before is not None:
                work.talks.turn(lane.let_go(before, claim.lane.fence, self.now))


@dataclass(frozen=True, slots=True)
class GiveFloor:
    """To a person, or back to the bot; what the bot said and was not sent is cancelled when a person takes it."""

    org: OrgId
    conversation: ConversationId
    holder: str
    times: Times
    now: Instant
    actor: str

    def needs(self, keys: Keys) -> None:
        keys.talks.add(self.conversation)
        if self.holder != BOT:
            keys.silenced.add(self.conversation)

    def decide(self, work: Work) -> FloorTaken | NoConversation:
        before = work.talks.lanes.get(self.conversation)
        if before is None or before.org_id != self.org:
            return NoConversation()
        if before.floor == self.holder:
            return FloorTaken(before, [])
        if self.holder == BOT:
            after = lane.hand_back(before, self.now, self.times)
        else:
            after = lane.hand_over(before, self.holder)
        work.talks.turn(after)
        tell_floor(after, self.now, work)
        work.audited.append(floor_entry(after, self.actor, self.now, f"from {before.floor} to {self.holder}"))
        return FloorTaken(after, self._silence(work) if self.holder != BOT else [])

    def _silence(self, work: Work) -> list[MessageId]:
        cancelled = []
        for message_id in sorted(work.talks.unsent.get(self.conversation, ())):
            known = work.deliveries.get(message_id)
            if known is None or known.org_id != self.org:
                continue
            after = delivery.cancel(known, self.now)
            if after is not known:
                work.change(replace(after, error_code=TAKEN_OVER, error_message=_TAKEN_OVER), self.now)
                work.note(message_id, self.now, "cancelled", _TAKEN_OVER)
                cancelled.append(message_id)
        return cancelled


@dataclass(frozen=True, slots=True)
class ReplayTurn:
    """A burst that was given up is answered after all, if nothing was answered since."""

    org: OrgId
    turn: EndedTurn
    now: Instant
    actor: str

    def needs(self, keys: Keys) -> None:
        keys.talks.add(self.turn.conversation_id)

    def decide(self, work: Work) -> Lane | NoConversation | LeaseLost:
        before = work.talks.lanes.get(self.turn.conversation_id)
        if before is None or before.org_id != self.org:
            return NoConversation()
        after = lane.reopen(before, self.turn.lo, self.turn.hi, self.now)
        if isinstance(after, LeaseLost):
            return after
        work.talks.turn(after)
        work.talks.reopened.append((self.turn.conversation_id, self.turn.hi))
        if after.floor != before.floor:
            tell_floor(after, self.now, work)
        work.audited.append(
            Entry(
                org_id=self.org,
                at=self.now,
                entity_type=Entity.CONVERSATION,
                entity_id=str(self.turn.conversation_id),
                action=Action.REPLAYED,
                actor=self.actor,
                details=f"the turn up to message {self.turn.hi}, given up with: {self.turn.error or 'no reason'}",
            )
        )
        return after

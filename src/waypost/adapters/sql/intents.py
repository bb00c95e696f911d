"""What may be asked of the Ledger, many in one transaction: each says which keys it needs, then decides on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from msgspec.structs import replace

from waypost.adapters.sql.chats import ChatKeys
from waypost.adapters.sql.talks import Saying
from waypost.adapters.sql.tries import SILENT, apply_waiting, ended, freed, told_of
from waypost.adapters.sql.work import Work, addressee
from waypost.model.audit import SYSTEM, Action, Entity, Entry
from waypost.model.conversation import Arrival, Claim, ConversationId
from waypost.model.dossier import ConsentStatus
from waypost.model.gate import Closing, GateName
from waypost.model.ids import Fence, MessageId, NumberId, OrgId, QueueId, Wamid, WorkerId, is_mailbox
from waypost.model.message import AttemptStatus, Channel, Delivery, Draft, Message, Status
from waypost.model.report import ReportName, StatusReport
from waypost.model.time import Instant
from waypost.ports.outbox import Blocked, Created, Different, Patience, Same, Settled, Settlement, Submitted, Swept
from waypost.rules import chat_content, gates
from waypost.rules import delivery as rule
from waypost.rules.clearance import refused_by_consent
from waypost.rules.delivery import UNSURE, Accept, Defer, Expire, StandBack, StayUnsure, TryAgain, Unsettled
from waypost.rules.pacing import quota_of


@dataclass(slots=True)
class Keys:
    """What a batch needs to find, lock or insert before it can decide."""

    drafts: list[tuple[Draft, Instant]] = field(default_factory=list)
    messages: set[MessageId] = field(default_factory=set)
    queues: set[QueueId] = field(default_factory=set)
    reports: list[StatusReport] = field(default_factory=list)
    failures: set[ReportName] = field(default_factory=set)
    """Reports that close a gate, where they are new."""
    acceptances: list[tuple[NumberId, Wamid, MessageId, Fence]] = field(default_factory=list)
    doubtful: set[MessageId] = field(default_factory=set)
    """Tries nobody settled, for which a status may have come that says no name."""
    permits: set[str] = field(default_factory=set)
    """To be given back: locked before gates and pairs, as a claim does."""
    untried: set[MessageId] = field(default_factory=set)
    """Messages that give theirs back."""
    arrivals: list[Arrival] = field(default_factory=list)
    talks: set[ConversationId] = field(default_factory=set)
    """Conversations that are changed by their id."""
    promised: list[tuple[Claim, tuple[Draft, ...], Instant]] = field(default_factory=list)
    """Drafts that are stored only where their turn is still held."""
    silenced: set[ConversationId] = field(default_factory=set)
    """Where the bot's words that have not left are withdrawn."""
    notices: list[Draft] = field(default_factory=list)
    """Messages of the org's own: shown in the conversation with whom they go to, where there is one."""
    late: set[MessageId] = field(default_factory=set)
    """Messages of the org's own that waited for their time: shown once the provider has them."""
    people: ChatKeys = field(default_factory=ChatKeys)
    """Chats, posts, and who has read what."""
    gates: set[tuple[OrgId, GateName]] = field(default_factory=set)
    pairs: set[tuple[NumberId, str]] = field(default_factory=set)

    def close(self, closing: Closing) -> None:
        if closing.pair is not None:
            self.pairs.add(closing.pair)
        else:
            self.gates.add((closing.org_id, closing.name))


class Intent(Protocol):
    @property
    def now(self) -> Instant: ...

    def needs(self, keys: Keys) -> None:
        """Add the keys that are known before anything was read."""

    def decide(self, work: Work) -> Any:
        """Change the work and return the answer; no reading, no writing."""


@dataclass(frozen=True, slots=True)
class Submit:
    draft: Draft
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.drafts.append((self.draft, self.now))
        if self.draft.channel is Channel.WHATSAPP:
            keys.notices.append(self.draft)

    def decide(self, work: Work) -> Submitted:
        key = (self.draft.org_id, self.draft.idempotency_key)
        refused = addressee(self.draft) in work.revoked
        if refused and key not in work.stored:
            return self._block(work)
        message_id, digest, fresh = work.stored[key]
        if refused or not fresh:
            return Same(message_id) if digest == self.draft.digest else Different(message_id)
        work.stored[key] = (message_id, digest, False)  # the next one with this key in the batch finds it stored
        delivery = work.deliveries[message_id]
        queue_id = work.facts[message_id].queue_id
        self._show(message_id, work)
        return Created(
            Message(id=message_id, draft=self.draft, queue_id=queue_id, created_at=self.now, delivery=delivery)
        )

    def _show(self, message_id: MessageId, work: Work) -> None:
        """In the conversation with whom it goes to: an agent sees what the customer sees, and not before."""
        where = work.talks.noticed.get((self.draft.org_id, self.draft.idempotency_key))
        is_for_later = self.draft.scheduled_at is not None and self.draft.scheduled_at > self.now
        if where is None or where not in work.talks.conversations or is_for_later:
            return
        kind, body = chat_content.sent(self.draft.template, self.draft.payload)
        said = Saying(self.draft.created_by, kind, body, self.now, message_id=message_id)
        work.talks.say(where, said, self.now)

    def _block(self, work: Work) -> Blocked:
        draft = self.draft
        reason = refused_by_consent(False, None, ConsentStatus.REVOKED) or ""
        work.audited.append(
            Entry(
                org_id=draft.org_id,
                at=self.now,
                entity_type=Entity.ADDRESS if draft.dossier_id is None else Entity.DOSSIER,
                entity_id=draft.recipient if draft.dossier_id is None else str(draft.dossier_id),
                action=Action.BLOCKED_BY_POLICY,
                actor=draft.created_by,
                details=f"{draft.channel.value} message refused: {reason}",
            )
        )
        return Blocked(reason)


@dataclass(frozen=True, slots=True)
class Settle:
    settlement: Settlement
    now: Instant

    def needs(self, keys: Keys) -> None:
        message = self.settlement.message
        keys.messages.add(message.id)
        if message.queue_id is not None:
            keys.queues.add(message.queue_id)
        if isinstance(self.settlement.verdict, Accept):
            keys.acceptances.append((message.sender, self.settlement.verdict.wamid, message.id, message.fence))
            if message.talk is not None and message.conversation_id is None and message.ready_at > message.created_at:
                keys.late.add(message.id)
                keys.talks.add(ConversationId(message.talk))
        if not isinstance(self.settlement.verdict, Accept | StayUnsure):
            keys.permits.add(quota_of(message.org_id))
        if isinstance(self.settlement.verdict, StandBack):
            keys.close(self.settlement.verdict.closing)

    def decide(self, work: Work) -> Settled:
        message, verdict = self.settlement.message, self.settlement.verdict
        before = work.deliveries[message.id]
        held = before.fence == message.fence and before.status is Status.SENDING
        after = rule.settle(before, message.fence, verdict, self.now)
        retry_at = after.due_at if held and isinstance(verdict, TryAgain) else None
        if held and isinstance(verdict, StandBack):
            after, retry_at = _behind(after, verdict.closing, work, self.now)
        if isinstance(verdict, Accept) or (held and rule.was_tried(verdict)):
            work.put_attempt(ended(message, verdict, retry_at, self.now))
        work.change(after, self.now)
        if held and not isinstance(verdict, Accept | StayUnsure):
            work.refunds.append((quota_of(message.org_id), message.claimed_at))
        self._note(held, work)
        early = 0
        if isinstance(verdict, Accept):
            key = (message.sender, verdict.wamid)
            early = apply_waiting(work, key, message.id, message.fence, self.now)
            self._show(work)
        if isinstance(verdict, Accept) and not held and before.status is Status.QUEUED:
            work.note(message.id, self.now, "withdrawn", "the provider had accepted an earlier try")
        return Settled(
            held=held,
            before=before,
            delivery=work.deliveries[message.id],
            promoted=freed(work, message.id),
            early=early,
        )

    def _show(self, work: Work) -> None:
        """What waited for its time is shown when it goes out, if it was not shown before."""
        message = self.settlement.message
        created_by = work.talks.unseen.pop(message.id, None)
        if created_by is None or message.talk not in work.talks.conversations:
            return
        kind, body = chat_content.sent(message.template, message.payload)
        said = Saying(created_by, kind, body, self.now, message_id=message.id)
        work.talks.say(ConversationId(message.talk), said, self.now)

    def _note(self, held: bool, work: Work) -> None:
        message, verdict = self.settlement.message, self.settlement.verdict
        if held and isinstance(verdict, StayUnsure):
            work.note(message.id, self.now, "unsure", verdict.reason)
        if held and isinstance(verdict, Expire):
            work.note(message.id, self.now, "expired", verdict.message)
        if held and isinstance(verdict, rule.GiveUp) and not verdict.counts:
            work.note(message.id, self.now, "refused", f"{verdict.code}: {verdict.message}")
        if held and isinstance(verdict, Defer):
            work.note(message.id, self.now, "deferred", f"{verdict.rule}: {verdict.reason}")
        if held and isinstance(verdict, StandBack):
            work.note(message.id, self.now, "deferred", f"{verdict.closing.kind}: {verdict.message}")


def _behind(delivery: Delivery, closing: Closing, work: Work, now: Instant) -> tuple[Delivery, Instant | None]:
    """Close the gate and leave the message behind it; of one customer only, it waits for its own time.

    Also says when the next try may come, where that is known.
    """
    if closing.pair is None:
        return delivery, work.close(closing, now).until
    pair = gates.block(work.pair(*closing.pair), closing, now)
    work.change_pair(pair)
    waits = replace(delivery, due_at=pair.blocked_until, deferred_by=closing.kind.value)
    return waits, pair.blocked_until


@dataclass(frozen=True, slots=True)
class Change:
    """A person's cancel, retry or replay. Answers (before, after), or None for a message that is not this org's."""

    org: OrgId
    message: MessageId
    verb: str
    now: Instant
    actor: str = SYSTEM

    def needs(self, keys: Keys) -> None:
        keys.messages.add(self.message)

    def decide(self, work: Work) -> tuple[Delivery, Delivery, bool] | None:
        before = work.deliveries.get(self.message)
        if before is None or before.org_id != self.org:
            return None
        after = self._changed(before)
        if after is not before:
            work.change(after, self.now)
            work.note(self.message, self.now, self.verb, "by a person")
            work.audited.append(self._entry(before))
        if after is not before and after.status is Status.QUEUED:
            work.expiring_again.append((self.message,))
        return before, after, freed(work, self.message)

    def _entry(self, before: Delivery) -> Entry:
        was = f"it was {before.status.value}" + (f" with {before.error_code}" if before.error_code else "")
        return Entry(
            org_id=self.org,
            at=self.now,
            entity_type=Entity.OUTBOUND_MESSAGE,
            entity_id=str(self.message),
            action=self.verb.upper(),
            actor=self.actor,
            details=was,
        )

    def _changed(self, before: Delivery) -> Delivery:
        if self.verb == "cancelled":
            return rule.cancel(before, self.now)
        if self.verb == "replayed" and before.status is not Status.FAILED:
            return before
        return rule.reopen(before, self.now)


@dataclass(frozen=True, slots=True)
class GiveUpWaiting:
    """Tries that stayed unsettled. A suspect has an unmatched status since, so it is never queued again."""

    candidates: tuple[MessageId, ...]
    patience: Patience
    stale_before: int
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.messages.update(self.candidates)
        keys.doubtful.update(self.candidates)

    def decide(self, work: Work) -> Swept:
        requeued: list[MessageId] = []
        parked: list[MessageId] = []
        for message_id in self.candidates:
            before = work.deliveries[message_id]
            if before.open_at_claim > self.stale_before:
                continue  # claimed again since the candidates were read
            # A mail server never reports back, so an email's silence says nothing.
            doubtful = message_id in work.suspects or is_mailbox(work.facts[message_id].sender)
            policy = Unsettled.PARK if doubtful else self.patience.policy_of(before.org_id)
            after = rule.give_up_waiting(before, policy, work.facts[message_id].max_attempts, self.now)
            if after is before:
                continue
            if before.owner is not None:  # its worker never said anything
                work.put_attempt(told_of(before, before.fence, AttemptStatus.UNSURE, self.now, UNSURE, SILENT))
            work.change(after, self.now)
            (parked if after.parked else requeued).append(message_id)
            work.note(message_id, self.now, "parked" if after.parked else "requeued", SILENT)
        return Swept(requeued, parked)


@dataclass(frozen=True, slots=True)
class ExpireWaiting:
    """Messages whose time has passed; one that is under way is looked at again when its try has ended."""

    candidates: tuple[MessageId, ...]
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.messages.update(self.candidates)

    def decide(self, work: Work) -> list[MessageId]:
        expired = []
        for message_id in self.candidates:
            before = work.deliveries[message_id]
            after = rule.expire(before, self.now)
            if after is not before:
                work.change(after, self.now)
                work.note(message_id, self.now, "expired", Expire().message)
                expired.append(message_id)
            if after.status is not Status.SENDING or after.parked:
                work.not_expiring.append((message_id,))
        return expired


@dataclass(frozen=True, slots=True)
class HandBack:
    owner: WorkerId
    candidates: tuple[MessageId, ...]
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.messages.update(self.candidates)
        keys.untried.update(self.candidates)

    def decide(self, work: Work) -> list[MessageId]:
        back = []
        for message_id in self.candidates:
            before = work.deliveries[message_id]
            if before.owner != self.owner or before.status is not Status.SENDING:
                continue
            verdict = TryAgain(self.now, "HANDED_BACK", "claimed, but never tried", None, counts=False)
            after = rule.settle(before, before.fence, verdict, self.now)
            work.put_attempt(
                told_of(before, before.fence, AttemptStatus.FAILED, self.now, verdict.code, verdict.message)
            )
            work.change(replace(after, error_code=None, error_message=None), self.now)
            work.refunds.append((quota_of(before.org_id), before.claimed_at or self.now))
            back.append(message_id)
        return back


def all_keys(intents: Iterable[Intent]) -> Keys:
    keys = Keys()
    for intent in intents:
        intent.needs(keys)
    return keys

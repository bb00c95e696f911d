"""The outbox intents: submit, settle, change, expire and return messages."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from waypost.adapters.sql.kernel.attempts import SILENT, apply_waiting, attempt_from_report, ended_attempt, freed
from waypost.adapters.sql.kernel.conversation_work import NewEntry
from waypost.adapters.sql.kernel.intent import Keys
from waypost.adapters.sql.kernel.transaction_state import TransactionState, addressee
from waypost.model.audit import SYSTEM, AuditAction, AuditEntry, Entity
from waypost.model.conversation import ConversationId
from waypost.model.dossier import ConsentStatus
from waypost.model.gate import GateClosing
from waypost.model.ids import MessageId, OrgId, WorkerId, is_mailbox
from waypost.model.message import AttemptStatus, Channel, Delivery, Draft, Message, Status
from waypost.model.time import Instant
from waypost.ports.sending.outbox import (
    BlockedByConsent,
    Created,
    DifferentContent,
    SameContent,
    Settled,
    Settlement,
    StaleLimits,
    Submitted,
    SweptAttempts,
)
from waypost.rules.conversations import chat_content
from waypost.rules.limits import gates
from waypost.rules.limits.send_pace import quota_of
from waypost.rules.sending import delivery as rule
from waypost.rules.sending.delivery import UNSURE, Accept, Defer, Expire, StandBack, StayUnsure, TryAgain, Unsettled
from waypost.rules.sending.send_checks import refused_by_consent


@dataclass(frozen=True, slots=True)
class Submit:
    draft: Draft
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.drafts.append((self.draft, self.now))
        if self.draft.channel is Channel.WHATSAPP:
            keys.own_drafts.append(self.draft)

    def decide(self, work: TransactionState) -> Submitted:
        key = (self.draft.org_id, self.draft.idempotency_key)
        refused = addressee(self.draft) in work.revoked
        if refused and key not in work.stored:
            return self._block(work)
        message_id, digest, fresh = work.stored[key]
        if refused or not fresh:
            return SameContent(message_id) if digest == self.draft.digest else DifferentContent(message_id)
        work.stored[key] = (message_id, digest, False)  # the next intent with this key in the batch finds it stored
        delivery = work.deliveries[message_id]
        queue_id = work.facts[message_id].queue_id
        self._show(message_id, work)
        return Created(
            Message(id=message_id, draft=self.draft, queue_id=queue_id, created_at=self.now, delivery=delivery)
        )

    def _show(self, message_id: MessageId, work: TransactionState) -> None:
        """Show the message in the recipient's conversation; a scheduled one is shown when it is sent."""
        where = work.conversations.shown_in.get((self.draft.org_id, self.draft.idempotency_key))
        is_for_later = self.draft.scheduled_at is not None and self.draft.scheduled_at > self.now
        if where is None or where not in work.conversations.by_id or is_for_later:
            return
        kind, body = chat_content.sent(self.draft.template, self.draft.payload)
        entry = NewEntry(self.draft.created_by, kind, body, self.now, message_id=message_id)
        work.conversations.add_entry(where, entry, self.now)

    def _block(self, work: TransactionState) -> BlockedByConsent:
        draft = self.draft
        reason = refused_by_consent(False, None, ConsentStatus.REVOKED) or ""
        work.audited.append(
            AuditEntry(
                org_id=draft.org_id,
                at=self.now,
                entity_type=Entity.ADDRESS if draft.dossier_id is None else Entity.DOSSIER,
                entity_id=draft.recipient if draft.dossier_id is None else str(draft.dossier_id),
                action=AuditAction.BLOCKED_BY_POLICY,
                actor=draft.created_by,
                details=f"{draft.channel.value} message refused: {reason}",
            )
        )
        return BlockedByConsent(reason)


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
            if (
                message.shown_in is not None
                and message.conversation_id is None
                and message.ready_at > message.created_at
            ):
                keys.late.add(message.id)
                keys.conversations.add(ConversationId(message.shown_in))
        if not isinstance(self.settlement.verdict, Accept | StayUnsure):
            keys.permits.add(quota_of(message.org_id))
        if isinstance(self.settlement.verdict, StandBack):
            keys.close(self.settlement.verdict.closing)

    def decide(self, work: TransactionState) -> Settled:
        message, verdict = self.settlement.message, self.settlement.verdict
        before = work.deliveries[message.id]
        held = before.fence == message.fence and before.status is Status.SENDING
        after = rule.settle(before, message.fence, verdict, self.now)
        retry_at = after.due_at if held and isinstance(verdict, TryAgain) else None
        if held and isinstance(verdict, StandBack):
            after, retry_at = _hold_back(after, verdict.closing, work, self.now)
        if isinstance(verdict, Accept) or (held and rule.was_tried(verdict)):
            work.put_attempt(ended_attempt(message, verdict, retry_at, self.now))
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

    def _show(self, work: TransactionState) -> None:
        """Show a scheduled message once it is sent, if no entry shows it yet."""
        message = self.settlement.message
        created_by = work.conversations.unseen.pop(message.id, None)
        if created_by is None or message.shown_in not in work.conversations.by_id:
            return
        kind, body = chat_content.sent(message.template, message.payload)
        entry = NewEntry(created_by, kind, body, self.now, message_id=message.id)
        work.conversations.add_entry(ConversationId(message.shown_in), entry, self.now)

    def _note(self, held: bool, work: TransactionState) -> None:
        message, verdict = self.settlement.message, self.settlement.verdict
        after = work.deliveries[message.id]
        if held and after.status is Status.CANCELLED and rule.is_withdrawn(after):
            work.note(message.id, self.now, "cancelled", after.error_message or "")
            return
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


def _hold_back(
    delivery: Delivery, closing: GateClosing, work: TransactionState, now: Instant
) -> tuple[Delivery, Instant | None]:
    """Close the gate and leave the message behind it; a block of one recipient delays only this message.

    Also returns when the next attempt may start, if that is known.
    """
    if closing.pair is None:
        until = work.close(closing, now).until
        return delivery, until if delivery.status is Status.QUEUED else None
    recipient = gates.block(work.recipient(*closing.pair), closing, now)
    work.change_recipient(recipient)
    if delivery.status is not Status.QUEUED:  # withdrawn meanwhile
        return delivery, None
    waits = replace(delivery, due_at=recipient.blocked_until, deferred_by=closing.kind.value)
    return waits, recipient.blocked_until


@dataclass(frozen=True, slots=True)
class ChangeMessage:
    """A user's cancel, retry or replay. Answers (before, after, promoted), or None for another org's message."""

    org: OrgId
    message: MessageId
    verb: str
    now: Instant
    actor: str = SYSTEM

    def needs(self, keys: Keys) -> None:
        keys.messages.add(self.message)

    def decide(self, work: TransactionState) -> tuple[Delivery, Delivery, bool] | None:
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

    def _entry(self, before: Delivery) -> AuditEntry:
        was = f"it was {before.status.value}" + (f" with {before.error_code}" if before.error_code else "")
        return AuditEntry(
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
class SettleStaleAttempts:
    """Attempts that stayed unsettled. A suspect may have an unmatched status, so it is never requeued."""

    candidates: tuple[MessageId, ...]
    patience: StaleLimits
    stale_before: int
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.messages.update(self.candidates)
        keys.doubtful.update(self.candidates)

    def decide(self, work: TransactionState) -> SweptAttempts:
        requeued: list[MessageId] = []
        parked: list[MessageId] = []
        for message_id in self.candidates:
            before = work.deliveries[message_id]
            if before.open_at_claim > self.stale_before:
                continue  # claimed again since the candidates were read
            # A mail server sends no statuses, so their absence proves nothing about an email.
            doubtful = message_id in work.suspects or is_mailbox(work.facts[message_id].sender)
            policy = Unsettled.PARK if doubtful else self.patience.policy_of(before.org_id)
            after = rule.give_up_waiting(before, policy, work.facts[message_id].max_attempts, self.now)
            if after is before:
                continue
            if before.owner is not None:  # its worker never settled it
                work.put_attempt(
                    attempt_from_report(before, before.fence, AttemptStatus.UNSURE, self.now, UNSURE, SILENT)
                )
            work.change(after, self.now)
            (parked if after.parked else requeued).append(message_id)
            work.note(message_id, self.now, "parked" if after.parked else "requeued", SILENT)
        return SweptAttempts(requeued, parked)


@dataclass(frozen=True, slots=True)
class ExpireMessages:
    """Messages past their expiry; one that is being sent is checked again after its attempt."""

    candidates: tuple[MessageId, ...]
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.messages.update(self.candidates)

    def decide(self, work: TransactionState) -> list[MessageId]:
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
class ReturnClaims:
    owner: WorkerId
    candidates: tuple[MessageId, ...]
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.messages.update(self.candidates)
        keys.untried.update(self.candidates)

    def decide(self, work: TransactionState) -> list[MessageId]:
        back = []
        for message_id in self.candidates:
            before = work.deliveries[message_id]
            if before.owner != self.owner or before.status is not Status.SENDING:
                continue
            verdict = TryAgain(self.now, "HANDED_BACK", "claimed, but never tried", None, counts=False)
            after = rule.settle(before, before.fence, verdict, self.now)
            work.put_attempt(
                attempt_from_report(before, before.fence, AttemptStatus.FAILED, self.now, verdict.code, verdict.message)
            )
            requeued = after.status is Status.QUEUED
            work.change(replace(after, error_code=None, error_message=None) if requeued else after, self.now)
            work.refunds.append((quota_of(before.org_id), before.claimed_at or self.now))
            back.append(message_id)
        return back

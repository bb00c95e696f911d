"""Applies one webhook POST as a whole: status updates, inbound messages, and journal items."""

from __future__ import annotations

from dataclasses import dataclass, field

from waypost.adapters.sql.kernel import stop_words
from waypost.adapters.sql.kernel.attempts import apply_waiting, attempt_from_report, freed
from waypost.adapters.sql.kernel.conversation_work import NewEntry
from waypost.adapters.sql.kernel.intent import Keys
from waypost.adapters.sql.kernel.transaction_state import TransactionState
from waypost.adapters.sql.rows import message_rows
from waypost.model.audit import SYSTEM, AuditAction, AuditEntry, Entity
from waypost.model.conversation import InboundMessage, TurnState
from waypost.model.ids import Fence, MessageId, NumberId
from waypost.model.message import AttemptStatus, Delivery, Status
from waypost.model.time import Instant
from waypost.model.webhook import FailureClosing, StatusUpdate, WebhookBatch
from waypost.ports.receiving.journal import AppliedWebhook, DeliveryChange
from waypost.rules.conversations.phone_forms import spellings
from waypost.rules.conversations.turn_state import is_taken
from waypost.rules.limits import gates, window
from waypost.rules.sending import delivery as rule


def _recipients(inbound: InboundMessage) -> list[tuple[NumberId, str]]:
    """An inbound message opens the window for every spelling of the phone, so that a claim reads one row."""
    return [(inbound.number, spelled) for spelled in spellings(inbound.reply_to)]


def _is_confirmed(inbound: InboundMessage, work: TransactionState) -> bool:
    return (
        bool(inbound.consent and inbound.consent.confirmation)
        and (inbound.number, inbound.wamid) in work.conversations.consent_times
    )


@dataclass(slots=True)
class _AppliedStatuses:
    """What the status updates of one POST have changed so far; the counts are those of AppliedWebhook."""

    moved: dict[MessageId, DeliveryChange] = field(default_factory=dict)
    early: int = 0
    late: int = 0
    unmatched: int = 0


@dataclass(frozen=True, slots=True)
class ApplyWebhook:
    post: WebhookBatch
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.updates.extend(self.post.statuses)
        keys.inbound.extend(self.post.inbound)
        keys.recipients.update(
            recipient for inbound in self.post.inbound if inbound.opens_window for recipient in _recipients(inbound)
        )
        for failure in self.post.closings:
            keys.close(failure.closing)
            keys.failures.add(failure.update.name)

    def decide(self, work: TransactionState) -> AppliedWebhook:
        reached = self._arrive(work)
        for failure in self.post.closings:
            self._close(failure, work)
        applied = _AppliedStatuses()
        for update in self.post.statuses:
            self._apply_status(update, applied, work)
        work.items.extend(
            (i.org_id, i.number, i.kind, i.key, i.state, i.error, self.now, i.body, i.told_at) for i in self.post.items
        )
        return AppliedWebhook(
            moved=list(applied.moved.values()),
            early=applied.early,
            late=applied.late,
            unmatched=applied.unmatched,
            promoted=any(freed(work, message_id) for message_id in applied.moved),
            arrived=len(reached),
            buffered=sum(1 for turn_state in reached if is_taken(turn_state)),
            reached=tuple(sorted({turn_state.conversation_id for turn_state in reached})),
            confirmed=sum(1 for update in self.post.inbound if _is_confirmed(update, work)),
        )

    def _arrive(self, work: TransactionState) -> list[TurnState]:
        """Return the turn state that each new message found."""
        found = []
        for inbound in self.post.inbound:
            for recipient in _recipients(inbound) if inbound.opens_window else ():
                work.change_recipient(window.record_inbound(work.recipient(*recipient), inbound.at))
            before = work.conversations.turn_states[work.conversations.where[inbound.number, inbound.wamid]]
            if work.conversations.arrive(inbound, self.now) is not None:
                found.append(before)
                self._consent(inbound, work)
        return found

    def _consent(self, inbound: InboundMessage, work: TransactionState) -> None:
        """Record and confirm a STOP or START that takes effect; one that came too late is only an entry."""
        consent, at = inbound.consent, work.conversations.consent_times.get((inbound.number, inbound.wamid))
        if consent is None or at is None:
            return
        for key in stop_words.consent_rows(inbound, work.conversations):
            work.consents[key] = (consent.status.value, at, self.now)
        where = work.conversations.where[inbound.number, inbound.wamid]
        dossier = work.conversations.dossiers[where]
        work.audited.append(
            AuditEntry(
                org_id=inbound.org_id,
                at=self.now,
                entity_type=Entity.ADDRESS if dossier is None else Entity.DOSSIER,
                entity_id=inbound.reply_to if dossier is None else str(dossier),
                action=AuditAction.CONSENT_CHANGED,
                actor=SYSTEM,
                details=f"WHATSAPP: {consent.status.value} (the customer wrote {consent.word!r})",
            )
        )
        if consent.confirmation is not None:
            message_id, _, _ = work.stored[inbound.org_id, consent.confirmation.idempotency_key]
            body = consent.confirmation.payload
            work.conversations.add_entry(
                where, NewEntry(SYSTEM, "text", body, self.now, message_id=message_id), self.now
            )

    def _close(self, failure: FailureClosing, work: TransactionState) -> None:
        """Close the gate once: a repeated failure neither prolongs a wait nor reinstates a released hold."""
        closing = failure.closing
        if failure.update.name in work.known_failures:
            return
        work.known_failures.add(failure.update.name)
        if closing.pair is None:
            work.close(closing, self.now)
        else:
            work.change_recipient(gates.block(work.recipient(*closing.pair), closing, self.now))

    def _apply_status(self, update: StatusUpdate, applied: _AppliedStatuses, work: TransactionState) -> None:
        binding = work.bound(update)
        work.status_rows.append(message_rows.report_row(update, binding.message_id, binding.fence, self.now))
        work.costs += message_rows.cost_rows(update, binding.message_id)
        if binding.message_id is None or binding.fence is None:
            applied.unmatched += 1
            return
        before = work.deliveries[binding.message_id]
        if before.status is Status.SENDING:
            applied.early += 1
        else:
            applied.late += 1
        after = self._advance(update, before, binding.fence, work)
        if after is not before:
            first = applied.moved.get(before.message_id)
            applied.moved[before.message_id] = DeliveryChange(first.before if first else before, after)

    def _advance(self, update: StatusUpdate, before: Delivery, fence: Fence, work: TransactionState) -> Delivery:
        """Apply the status updates that waited for this wamid's message, then this one."""
        apply_waiting(work, (update.number, update.wamid), before.message_id, fence, self.now)
        work.change(rule.apply_status(work.deliveries[before.message_id], fence, update, self.now), self.now)
        after = work.deliveries[before.message_id]
        if after is before or before.status not in (Status.SENDING, Status.QUEUED):
            return after
        if after.status is Status.FAILED:
            failed = attempt_from_report(
                before, fence, AttemptStatus.FAILED, self.now, after.error_code, after.error_message
            )
            work.put_attempt(failed)
        else:
            work.put_attempt(attempt_from_report(before, fence, AttemptStatus.SUCCESS, self.now))
        if before.status is Status.QUEUED:
            work.note(before.message_id, self.now, "withdrawn", f"the provider reported {update.kind.value}")
        return after

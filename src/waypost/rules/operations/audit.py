"""Audit steps and dossier activities, derived from the rows of a message.

A message has few audit entries of its own: its creation, attempts and status updates are rows already, each written in
the transaction that it records. Only cancel and retry are entries, since no other row names their actor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from waypost.model.audit import PROVIDER, SYSTEM, Activity, ActivityType, AuditAction, AuditEntry, Entity, RecordedEntry
from waypost.model.ids import Fence
from waypost.model.message import Attempt, AttemptStatus, Message, MessageEvent
from waypost.model.time import Instant
from waypost.model.webhook import StatusKind
from waypost.rules.sending.send_checks import CONSENT_REQUIRED, SESSION_EXPIRED

POLICIES = frozenset({CONSENT_REQUIRED, SESSION_EXPIRED})
"""Codes of messages that one of our rules stopped permanently."""
EXPIRED = "EXPIRED"
HANDED_BACK = "HANDED_BACK"

_RUNGS = {StatusKind.DELIVERED: 1, StatusKind.READ: 2, StatusKind.PLAYED: 3}
_SYSTEM_CHANGES = {"requeued": "queued again", "parked": "left to a person"}


class AuditedStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A status update as received from the provider."""

    at: Instant
    kind: str
    wamid: str
    fence: Fence | None
    error_code: str | None


class AuditStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step in the life of a message."""

    at: Instant
    action: AuditAction
    name: str
    """Unique among the message's steps, and stable."""
    details: str
    actor: str = SYSTEM
    status: str | None = None
    """The provider's status, if the step is a status update."""
    wamid: str | None = None
    error_code: str | None = None


def steps(
    message: Message, attempts: Sequence[Attempt], statuses: Sequence[AuditedStatus], events: Sequence[MessageEvent]
) -> list[AuditStep]:
    """The steps of a message, oldest first."""
    creator = message.draft.created_by
    found = [
        AuditStep(
            at=message.created_at, action=AuditAction.CREATED, name="created", details=_created(message), actor=creator
        )
    ]
    for attempt in attempts:
        found += _tried(attempt)
    found += _reported(attempts, statuses)
    for n, event in enumerate(events):
        if event.kind == "expired":  # while it waited, without an attempt
            details = f"{EXPIRED}: {event.detail}"
            found.append(AuditStep(at=event.at, action=AuditAction.CANCELLED, name=f"expired-{n}", details=details))
        if event.kind == "refused":  # by one of our rules, without an attempt
            found += _refused(event, f"e{n}")
        if event.kind in _SYSTEM_CHANGES:
            details = f"{_SYSTEM_CHANGES[event.kind]}: {event.detail}"
            found.append(AuditStep(at=event.at, action=AuditAction.UPDATED, name=f"{event.kind}-{n}", details=details))
    return sorted(found, key=lambda step: step.at)  # stable: steps with equal times keep their causal order


def _created(message: Message) -> str:
    draft = message.draft
    template = f", template={draft.template}" if draft.template else ""
    return f"channel={draft.channel.value}, to={draft.recipient}{template}"


def _tried(attempt: Attempt) -> Iterator[AuditStep]:
    """Only final attempts are audited: the provider accepted it, or no retry follows."""
    at, code = attempt.finished_at, attempt.error_code
    if at is None:
        return
    if attempt.status is AttemptStatus.SUCCESS:
        yield AuditStep(at=at, action=AuditAction.SENT, name=f"sent-{attempt.fence}", details="the provider has it")
    if attempt.status is not AttemptStatus.FAILED or attempt.next_retry_at is not None or code == HANDED_BACK:
        return
    details = f"{code}: {attempt.error_message or 'no reason was given'}"
    if code == EXPIRED:
        yield AuditStep(at=at, action=AuditAction.CANCELLED, name=f"expired-{attempt.fence}", details=details)
        return
    yield from _failed(at, code, details, str(attempt.fence))


def _refused(event: MessageEvent, number: str) -> Iterator[AuditStep]:
    code, _, _ = event.detail.partition(": ")
    return _failed(event.at, code, event.detail, number)


def _failed(at: Instant, code: str | None, details: str, number: str) -> Iterator[AuditStep]:
    if code in POLICIES:
        name = f"blocked-{number}"
        yield AuditStep(at=at, action=AuditAction.BLOCKED_BY_POLICY, name=name, details=details, error_code=code)
    yield AuditStep(at=at, action=AuditAction.FAILED, name=f"failed-{number}", details=details, error_code=code)


def _reported(attempts: Sequence[Attempt], statuses: Sequence[AuditedStatus]) -> Iterator[AuditStep]:
    """Status updates that advance an attempt; `sent` is left out, since its success says the same."""
    ended = {attempt.fence: attempt.status for attempt in attempts}
    reached: dict[Fence | None, int] = {}
    for update in statuses:
        kind = StatusKind(update.kind)
        before = reached.get(update.fence, 0)
        if kind is StatusKind.FAILED and before == 0:
            reached[update.fence] = len(_RUNGS) + 1
            yield _status(update, f"delivery status: failed ({update.error_code or 'no code'})")
            # A failure that ended a running attempt is in that attempt; one after its success is only here.
            if update.fence is not None and ended.get(update.fence) is AttemptStatus.SUCCESS:
                code = update.error_code or "UNKNOWN"
                yield AuditStep(
                    at=update.at,
                    action=AuditAction.FAILED,
                    name=f"failed-{update.fence}",
                    details=f"{code}: reported by the provider",
                    actor=PROVIDER,
                    error_code=code,
                )
        elif _RUNGS.get(kind, 0) > before:
            reached[update.fence] = _RUNGS[kind]
            yield _status(update, f"delivery status: {update.kind}")


def _status(update: AuditedStatus, details: str) -> AuditStep:
    return AuditStep(
        at=update.at,
        action=AuditAction.UPDATED,
        name=f"status-{update.kind}-{update.fence}",
        details=details,
        actor=PROVIDER,
        status=update.kind,
        wamid=update.wamid,
    )


def entries(
    message: Message, found: Sequence[AuditStep], entity: Entity = Entity.OUTBOUND_MESSAGE
) -> list[RecordedEntry]:
    """The steps as audit entries, of the message itself or, where a rule blocked it, of its dossier."""
    of_dossier = entity is Entity.DOSSIER
    about = message.draft.dossier_id if of_dossier else message.id
    return [
        RecordedEntry(
            f"{'d' if of_dossier else 'm'}{message.id}-{step.name}",
            AuditEntry(
                org_id=message.draft.org_id,
                at=step.at,
                entity_type=entity,
                entity_id=str(about),
                action=step.action,
                actor=step.actor,
                details=f"message {message.id}: {step.details}" if of_dossier else step.details,
            ),
        )
        for step in found
        if not of_dossier or (step.action is AuditAction.BLOCKED_BY_POLICY and about is not None)
    ]


def activities(message: Message, found: Sequence[AuditStep]) -> list[Activity]:
    """The steps of a message that its dossier's timeline shows."""
    draft = message.draft
    if draft.dossier_id is None:
        return []
    shown = []
    for step in found:
        payload: dict[str, object] = {"outboundMessageId": message.id, "channel": draft.channel.value}
        if step.action is AuditAction.SENT:
            kind, more = ActivityType.MESSAGE_SENT, {"to": draft.recipient, "status": "SENT"}
        elif step.status is not None:
            kind = ActivityType.MESSAGE_STATUS_UPDATE
            more = {"providerMessageId": step.wamid or "", "status": step.status}
        elif step.action is AuditAction.FAILED:
            kind, more = ActivityType.MESSAGE_FAILED, {"errorCode": step.error_code or "UNKNOWN"}
        else:
            continue
        payload |= more
        activity_id = f"m{message.id}-{step.name}"
        shown.append(Activity(id=activity_id, at=step.at, dossier_id=draft.dossier_id, type=kind, payload=payload))
    return shown

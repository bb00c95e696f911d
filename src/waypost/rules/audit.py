"""What the rows of a message's life say to an auditor, and to whoever looks after its dossier.

A message leaves no entries of its own on its way: created, tried and reported are rows already, each written in the
transaction of what it records. Only who cancelled or retried it is an entry, since no other row names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from waypost.model.audit import PROVIDER, SYSTEM, Action, Activity, ActivityType, Entity, Entry, Recorded
from waypost.model.ids import Fence
from waypost.model.message import Attempt, AttemptStatus, Event, Message
from waypost.model.report import ReportKind
from waypost.model.time import Instant
from waypost.rules.clearance import CONSENT_REQUIRED, SESSION_EXPIRED

POLICIES = frozenset({CONSENT_REQUIRED, SESSION_EXPIRED})
"""Codes of a message that a rule of ours stopped for good."""
EXPIRED = "EXPIRED"
HANDED_BACK = "HANDED_BACK"

_RUNGS = {ReportKind.DELIVERED: 1, ReportKind.READ: 2, ReportKind.PLAYED: 3}
_SYSTEM_CHANGES = {"requeued": "queued again", "parked": "left to a person"}


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """A status as the provider reported it."""

    at: Instant
    kind: str
    wamid: str
    fence: Fence | None
    error_code: str | None


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened to a message."""

    at: Instant
    action: Action
    name: str
    """Tells it from the message's other steps, always the same way."""
    details: str
    actor: str = SYSTEM
    status: str | None = None
    """As the provider put it, of a status."""
    wamid: str | None = None
    error_code: str | None = None


def steps(message: Message, attempts: Sequence[Attempt], heard: Sequence[Heard], events: Sequence[Event]) -> list[Step]:
    """The steps of a message, oldest first."""
    who = message.draft.created_by
    found = [Step(at=message.created_at, action=Action.CREATED, name="created", details=_created(message), actor=who)]
    for attempt in attempts:
        found += _tried(attempt)
    found += _reported(attempts, heard)
    for n, event in enumerate(events):
        if event.kind == "expired":  # while it waited, without a try
            details = f"{EXPIRED}: {event.detail}"
            found.append(Step(at=event.at, action=Action.CANCELLED, name=f"expired-{n}", details=details))
        if event.kind == "refused":  # by a rule of ours, without a try
            found += _refused(event, f"e{n}")
        if event.kind in _SYSTEM_CHANGES:
            details = f"{_SYSTEM_CHANGES[event.kind]}: {event.detail}"
            found.append(Step(at=event.at, action=Action.UPDATED, name=f"{event.kind}-{n}", details=details))
    return sorted(found, key=lambda step: step.at)  # stable: what happened at once keeps the order of cause


def _created(message: Message) -> str:
    draft = message.draft
    template = f", template={draft.template}" if draft.template else ""
    return f"channel={draft.channel.value}, to={draft.recipient}{template}"


def _tried(attempt: Attempt) -> Iterator[Step]:
    """A try counts for an auditor when it was the last of its kind: the provider took it, or nothing follows."""
    at, code = attempt.finished_at, attempt.error_code
    if at is None:
        return
    if attempt.status is AttemptStatus.SUCCESS:
        yield Step(at=at, action=Action.SENT, name=f"sent-{attempt.fence}", details="the provider has it")
    if attempt.status is not AttemptStatus.FAILED or attempt.next_retry_at is not None or code == HANDED_BACK:
        return
    details = f"{code}: {attempt.error_message or 'no reason was given'}"
    if code == EXPIRED:
        yield Step(at=at, action=Action.CANCELLED, name=f"expired-{attempt.fence}", details=details)
        return
    yield from _failed(at, code, details, str(attempt.fence))


def _refused(event: Event, number: str) -> Iterator[Step]:
    code, _, _ = event.detail.partition(": ")
    return _failed(event.at, code, event.detail, number)


def _failed(at: Instant, code: str | None, details: str, number: str) -> Iterator[Step]:
    if code in POLICIES:
        name = f"blocked-{number}"
        yield Step(at=at, action=Action.BLOCKED_BY_POLICY, name=name, details=details, error_code=code)
    yield Step(at=at, action=Action.FAILED, name=f"failed-{number}", details=details, error_code=code)


def _reported(attempts: Sequence[Attempt], heard: Sequence[Heard]) -> Iterator[Step]:
    """Statuses that told something new: each try's only climb, and `sent` is what its success says already."""
    ended = {attempt.fence: attempt.status for attempt in attempts}
    reached: dict[Fence | None, int] = {}
    for told in heard:
        kind = ReportKind(told.kind)
        before = reached.get(told.fence, 0)
        if kind is ReportKind.FAILED and before == 0:
            reached[told.fence] = len(_RUNGS) + 1
            yield _status(told, f"delivery status: failed ({told.error_code or 'no code'})")
            # A failure that ended a try under way is in that try; one that came after its success is only here.
            if told.fence is not None and ended.get(told.fence) is AttemptStatus.SUCCESS:
                code = told.error_code or "UNKNOWN"
                yield Step(
                    at=told.at,
                    action=Action.FAILED,
                    name=f"failed-{told.fence}",
                    details=f"{code}: reported by the provider",
                    actor=PROVIDER,
                    error_code=code,
                )
        elif _RUNGS.get(kind, 0) > before:
            reached[told.fence] = _RUNGS[kind]
            yield _status(told, f"delivery status: {told.kind}")


def _status(told: Heard, details: str) -> Step:
    return Step(
        at=told.at,
        action=Action.UPDATED,
        name=f"status-{told.kind}-{told.fence}",
        details=details,
        actor=PROVIDER,
        status=told.kind,
        wamid=told.wamid,
    )


def entries(message: Message, found: Sequence[Step], entity: Entity = Entity.OUTBOUND_MESSAGE) -> list[Recorded]:
    """The steps as audit entries, of the message itself or, where a rule blocked it, of its dossier."""
    of_dossier = entity is Entity.DOSSIER
    about = message.draft.dossier_id if of_dossier else message.id
    return [
        Recorded(
            f"{'d' if of_dossier else 'm'}{message.id}-{step.name}",
            Entry(
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
        if not of_dossier or (step.action is Action.BLOCKED_BY_POLICY and about is not None)
    ]


def activities(message: Message, found: Sequence[Step]) -> list[Activity]:
    """What a dossier's timeline shows of one of its messages."""
    draft = message.draft
    if draft.dossier_id is None:
        return []
    shown = []
    for step in found:
        payload: dict[str, object] = {"outboundMessageId": message.id, "channel": draft.channel.value}
        if step.action is Action.SENT:
            kind, more = ActivityType.MESSAGE_SENT, {"to": draft.recipient, "status": "SENT"}
        elif step.status is not None:
            kind = ActivityType.MESSAGE_STATUS_UPDATE
            more = {"providerMessageId": step.wamid or "", "status": step.status}
        elif step.action is Action.FAILED:
            kind, more = ActivityType.MESSAGE_FAILED, {"errorCode": step.error_code or "UNKNOWN"}
        else:
            continue
        payload |= more
        activity_id = f"m{message.id}-{step.name}"
        shown.append(Activity(id=activity_id, at=step.at, dossier_id=draft.dossier_id, type=kind, payload=payload))
    return shown

"""Conversion of message and account rows; the column order here is the order in the statements."""

from __future__ import annotations

from typing import NamedTuple

from waypost.adapters.sql.engine.plan import Row
from waypost.model.account import ApiKey, Caller, Number, Org, Role, User
from waypost.model.audit import AuditEntry, RecordedEntry
from waypost.model.dossier import Consent, ConsentStatus, Dossier, DossierFields, DossierId
from waypost.model.email import MailAccount, Security
from waypost.model.ids import Fence, KeyId, MailboxId, MessageId, NumberId, OrgId, QueueId, UserId
from waypost.model.message import Attempt, AttemptStatus, Channel, Delivery, Draft, Message, MessageEvent, Status
from waypost.model.time import Instant
from waypost.model.webhook import JournalItem, StatusKind, StatusUpdate
from waypost.ports.receiving.journal import JournalEntry
from waypost.ports.sending.messages import StatusRecord


class MessageFacts(NamedTuple):
    """The immutable columns of a message that decisions need."""

    message_id: MessageId
    org_id: OrgId
    sender: NumberId
    priority: int
    max_attempts: int
    queue_id: QueueId | None
    dispatch_group: int
    shown_in: int | None = None
    """The conversation that shows the message."""


FACTS = len(MessageFacts._fields)

_STATUS = {status.value: status for status in Status}


def delivery(row: Row) -> Delivery:
    """From the columns after the facts, which provide the first two fields."""
    return Delivery(
        message_id=row[0],
        org_id=row[1],
        status=_STATUS[row[8]],
        generation=row[9],
        fence=Fence(row[10]),
        first_fence=Fence(row[11]),
        tries=row[12],
        due_at=row[13],
        owner=row[14],
        open_at_claim=row[15],
        parked=bool(row[16]),
        provider_id=row[17],
        error_code=row[18],
        error_message=row[19],
        sent_at=row[20],
        delivered_at=row[21],
        read_at=row[22],
        updated_at=row[23],
        claimed_at=row[24],
        deferred_by=row[25],
    )


def delivery_state(d: Delivery) -> Row:
    """The key, then the columns that an update may change."""
    return (
        d.message_id,
        d.status.value,
        d.generation,
        d.fence,
        d.first_fence,
        d.tries,
        d.due_at,
        d.owner,
        d.open_at_claim,
        d.parked,
        d.provider_id,
        d.error_code,
        d.error_message,
        d.sent_at,
        d.delivered_at,
        d.read_at,
        d.updated_at,
        d.claimed_at,
        d.deferred_by,
    )


def new_delivery(message_id: MessageId, draft: Draft, now: Instant) -> Delivery:
    return Delivery(
        message_id=message_id,
        org_id=draft.org_id,
        status=Status.QUEUED,
        generation=1,
        fence=Fence(0),
        first_fence=Fence(0),
        tries=0,
        due_at=max(now, draft.scheduled_at or now),
        owner=None,
        open_at_claim=0,
        parked=False,
        provider_id=None,
        error_code=None,
        error_message=None,
        sent_at=None,
        delivered_at=None,
        read_at=None,
        updated_at=now,
        claimed_at=None,
    )


def delivery_progress(d: Delivery) -> Row:
    """The columns that can change after the provider has accepted the message."""
    return (d.message_id, d.status.value, d.provider_id, d.sent_at, d.delivered_at, d.read_at, d.updated_at)


def draft_row(draft: Draft, queue_id: QueueId | None, now: Instant) -> Row:
    return (
        draft.org_id,
        draft.sender,
        draft.channel.value,
        draft.recipient,
        draft.template,
        draft.subject,
        draft.payload,
        draft.dossier_id,
        draft.idempotency_key,
        draft.digest,
        draft.priority,
        draft.scheduled_at,
        draft.expires_at,
        draft.ordered,
        draft.max_attempts,
        queue_id,
        now,
        draft.created_by,
        draft.conversation_id,
        draft.exempt,
    )


def message(row: Row) -> Message:
    """From `message` (21 columns), then `delivery`."""
    draft = Draft(
        org_id=OrgId(row[1]),
        sender=NumberId(row[2]),
        channel=Channel(row[3]),
        recipient=row[4],
        template=row[5],
        subject=row[6],
        payload=row[7],
        dossier_id=row[8],
        idempotency_key=row[9],
        digest=bytes(row[10]),
        priority=row[11],
        scheduled_at=row[12],
        expires_at=row[13],
        ordered=bool(row[14]),
        max_attempts=row[15],
        created_by=row[18],
        conversation_id=row[19],
        exempt=bool(row[20]),
    )
    return Message(id=MessageId(row[0]), draft=draft, queue_id=row[16], created_at=row[17], delivery=delivery(row[21:]))


def attempt(row: Row) -> Attempt:
    return Attempt(
        message_id=row[0],
        fence=row[1],
        generation=row[2],
        attempt_no=row[3],
        status=AttemptStatus(row[4]),
        error_code=row[5],
        error_message=row[6],
        response=row[7],
        next_retry_at=row[8],
        created_at=row[9],
        finished_at=row[10],
    )


def attempt_row(a: Attempt) -> Row:
    return (
        a.message_id,
        a.fence,
        a.generation,
        a.attempt_no,
        a.status.value,
        a.error_code,
        a.error_message,
        a.response,
        a.next_retry_at,
        a.created_at,
        a.finished_at,
    )


def report_row(update: StatusUpdate, message_id: MessageId | None, fence: Fence | None, now: Instant) -> Row:
    return (
        update.number,
        update.wamid,
        update.kind.value,
        update.participant,
        update.org_id,
        message_id,
        fence,
        update.recipient,
        update.at,
        now,
        update.error_code,
        update.error_message,
        update.body,
    )


DAY = 86_400_000_000


def cost_rows(update: StatusUpdate, message_id: MessageId | None) -> list[Row]:
    """The cost row of a status update that carries a charge."""
    charge = update.charge
    if charge is None:
        return []
    named = (update.number, update.wamid, update.org_id, message_id)
    price = (charge.category, charge.type, charge.model, charge.country, charge.amount_micros, charge.currency)
    return [(*named, *price, update.at, update.at // DAY)]


def waiting_report(row: Row) -> StatusUpdate:
    """From number, wamid, kind, participant, org_id, recipient, at, error_code, error_message."""
    return StatusUpdate(
        number=row[0],
        wamid=row[1],
        kind=StatusKind(row[2]),
        participant=row[3],
        org_id=row[4],
        recipient=row[5],
        at=row[6],
        error_code=row[7],
        error_message=row[8],
        echo=None,
        body="",
    )


def status_record(row: Row) -> StatusRecord:
    return StatusRecord(
        at=row[0], received_at=row[1], kind=row[2], body=row[3], wamid=row[4], fence=row[5], error_code=row[6]
    )


def event(row: Row) -> MessageEvent:
    return MessageEvent(at=row[0], kind=row[1], detail=row[2])


def journaled(row: Row) -> JournalEntry:
    org_id, number, kind, key, state, error = row[1:7]
    item = JournalItem(
        org_id=org_id, number=number, kind=kind, key=key, state=state, error=error, body=row[8], told_at=row[9]
    )
    return JournalEntry(id=row[0], item=item, received_at=row[7])


def org(row: Row) -> Org:
    return Org(OrgId(row[0]), Instant(row[1]))


def api_key(row: Row) -> ApiKey:
    return ApiKey(
        id=KeyId(row[0]), org_id=row[1], role=Role(row[2]), label=row[3], created_at=row[4], revoked_at=row[5]
    )


def user(row: Row) -> User:
    return User(id=UserId(row[0]), org_id=row[1], name=row[2], role=Role(row[3]), created_at=row[4])


def number(row: Row) -> Number:
    return Number(
        id=NumberId(row[0]),
        org_id=row[1],
        waba_id=row[2],
        sealed_token=bytes(row[3]),
        sealed_app_secret=bytes(row[4]),
        sealed_verify_token=bytes(row[5]),
        graph_url=row[6],
        error_catalogue=row[7],
        enabled=bool(row[8]),
        created_at=row[9],
        updated_at=row[10],
        pace=row[11],
        tier=row[12],
        failover=row[13],
    )


def mailbox(row: Row) -> MailAccount:
    return MailAccount(
        id=MailboxId(row[0]),
        org_id=row[1],
        address=row[2],
        name=row[3],
        domain=row[4],
        host=row[5],
        port=row[6],
        security=Security(row[7]),
        username=row[8],
        sealed_password=None if row[9] is None else bytes(row[9]),
        enabled=bool(row[10]),
        created_at=row[11],
        updated_at=row[12],
        pace=row[13],
    )


def caller(row: Row) -> Caller:
    return Caller(org_id=row[0], role=Role(row[1]), key_id=row[2], user_id=row[3])


def audit_row(e: AuditEntry) -> Row:
    return (e.org_id, e.at, e.entity_type, e.entity_id, e.action, e.actor, e.details)


def recorded(row: Row) -> RecordedEntry:
    """From the id, then the columns of `audit_row`."""
    entry = AuditEntry(
        org_id=row[1],
        at=row[2],
        entity_type=row[3],
        entity_id=row[4],
        action=row[5],
        actor=row[6],
        details=row[7],
    )
    return RecordedEntry(str(row[0]), entry)


def dossier(row: Row) -> Dossier:
    return Dossier(
        id=DossierId(row[0]),
        org_id=row[1],
        person=DossierFields(phone=row[2], email=row[3], name=row[4], external_ref=row[5]),
        status=row[6],
        created_at=row[7],
        updated_at=row[8],
    )


def consent(dossier_id: DossierId, row: Row) -> Consent:
    return Consent(dossier_id=dossier_id, channel=Channel(row[0]), status=ConsentStatus(row[1]), at=row[2])

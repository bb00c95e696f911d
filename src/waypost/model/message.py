"""Outbound messages: the draft (never changes), the delivery (changes) and the attempts."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from waypost.model.audit import SYSTEM
from waypost.model.gate import GateId
from waypost.model.ids import Fence, MessageId, NumberId, OrgId, QueueId, Wamid, WorkerId
from waypost.model.time import Instant


class Channel(StrEnum):
    WHATSAPP = "WHATSAPP"
    EMAIL = "EMAIL"
    SMS = "SMS"
    PHONE = "PHONE"
    WHATSAPP_MARKETING = "WHATSAPP_MARKETING"
    """For consents only: a customer's consent to marketing templates."""


class Status(StrEnum):
    """The status of a message; docs/explanation/states.md draws the transitions."""

    QUEUED = "QUEUED"
    SENDING = "SENDING"
    SENT = "SENT"
    DELIVERED = "DELIVERED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class AttemptStatus(StrEnum):
    TRYING = "TRYING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    UNSURE = "UNSURE"


class Draft(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message as requested: checked, normalised, not yet stored."""

    org_id: OrgId
    sender: NumberId
    channel: Channel
    recipient: str
    template: str | None
    subject: str | None
    payload: str
    """The caller's `payloadJson`, as JSON text."""
    dossier_id: int | None
    idempotency_key: str
    digest: bytes
    """Of the content that must match if the same idempotency key is used again."""
    priority: int
    scheduled_at: Instant | None
    expires_at: Instant | None
    ordered: bool
    max_attempts: int
    created_by: str = SYSTEM
    """The key or user that requested it."""
    conversation_id: int | None = None
    """The conversation in which it is a reply."""
    exempt: bool = False
    """Sent regardless of consent: it confirms an opt-out."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The mutable part of a message; only rules/sending/delivery.py changes it."""

    message_id: MessageId
    org_id: OrgId
    status: Status
    generation: int
    """Incremented when a person retries or replays it; within one, the status only advances."""
    fence: Fence
    first_fence: Fence
    """The fence when this generation began; higher fences belong to it."""
    tries: int
    """Attempts of this generation that count against the limit."""
    due_at: Instant | None
    """If QUEUED: the earliest time to send it."""
    owner: WorkerId | None
    claimed_at: Instant | None
    """When the latest claim was made."""
    open_at_claim: int
    """Total webhook uptime at that moment."""
    deferred_by: str | None = None
    """If QUEUED and not yet due: the rule that deferred it, if one did."""
    parked: bool
    """Unsure for longer than the stale limit; a person must decide."""
    provider_id: Wamid | None
    error_code: str | None
    error_message: str | None
    sent_at: Instant | None
    delivered_at: Instant | None
    read_at: Instant | None
    updated_at: Instant


class Message(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A stored message with its delivery, as the API shows it."""

    id: MessageId
    draft: Draft
    queue_id: QueueId | None
    created_at: Instant
    delivery: Delivery


class ClaimedMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message claimed by a worker for one attempt."""

    id: MessageId
    fence: Fence
    generation: int
    tries: int
    """Including this attempt."""
    org_id: OrgId
    sender: NumberId
    recipient: str
    template: str | None
    payload: str
    max_attempts: int
    expires_at: Instant | None
    queue_id: QueueId | None
    created_at: Instant
    claimed_at: Instant
    ready_at: Instant
    """When it became due; the queueing delay is measured from here."""
    priority: int = 5
    rank: int = 0
    """Its sort key in the queue: due time minus the priority's head start."""
    start_at: Instant
    """The earliest time to send it within the number's pace."""
    channel: Channel = Channel.WHATSAPP
    subject: str | None = None
    dossier_id: int | None = None
    window_until: Instant | None = None
    """When the window of this number and customer closes."""
    consent: str | None = None
    """The latest consent of its dossier for its channel."""
    address_consent: str | None = None
    """The latest consent of the address itself for its channel."""
    conversation_id: int | None = None
    shown_in: int | None = None
    """The conversation in which it is shown."""
    exempt: bool = False
    put_off_until: Instant | None = None
    put_off_by: str | None = None
    probe: GateId | None = None
    """The breaker that this message probes."""
    delivery: Delivery
    """As of the claim; if it is unchanged, settling needs no second read."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    message_id: MessageId
    fence: Fence
    generation: int
    attempt_no: int
    status: AttemptStatus
    error_code: str | None
    error_message: str | None
    response: str | None
    next_retry_at: Instant | None
    created_at: Instant
    finished_at: Instant | None


class MessageEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event of a message that no other row records."""

    at: Instant
    kind: str
    detail: str

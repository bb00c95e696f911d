"""An outbound message: what was asked for (never changes), where it stands (changes), and what was tried."""

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
    """For consents only: what a customer said to marketing templates."""


class Status(StrEnum):
    """Where a message stands; docs/explanation/states.md draws the moves."""

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
    """A message as asked for: checked, normalised, not yet stored."""

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
    """Of everything that makes two requests the same content."""
    priority: int
    scheduled_at: Instant | None
    expires_at: Instant | None
    ordered: bool
    max_attempts: int
    created_by: str = SYSTEM
    """The key or person who asked for it."""
    conversation_id: int | None = None
    """What it answers in."""
    exempt: bool = False
    """It goes whatever the customer agreed to: the word that they are out."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a message stands. The one mutable part of it; rules/delivery.py alone says how it may change."""

    message_id: MessageId
    org_id: OrgId
    status: Status
    generation: int
    """Grows when a person retries or replays; states only climb within one."""
    fence: Fence
    first_fence: Fence
    """The fence when this generation began: a higher one belongs to it."""
    tries: int
    """Tries of this generation that count against the limit."""
    due_at: Instant | None
    """When QUEUED: not before."""
    owner: WorkerId | None
    claimed_at: Instant | None
    """When the latest claim was made."""
    open_at_claim: int
    """How long the webhook door had been open, in all, at that moment."""
    deferred_by: str | None = None
    """When QUEUED and not yet due: the rule that put this message off, if one did."""
    parked: bool
    """Unsure for longer than the stale limit, and left to a person."""
    provider_id: Wamid | None
    error_code: str | None
    error_message: str | None
    sent_at: Instant | None
    delivered_at: Instant | None
    read_at: Instant | None
    updated_at: Instant


class Message(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A stored message with its delivery: what the API shows."""

    id: MessageId
    draft: Draft
    queue_id: QueueId | None
    created_at: Instant
    delivery: Delivery


class Claimed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message taken by a worker for one try."""

    id: MessageId
    fence: Fence
    generation: int
    tries: int
    """This try included."""
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
    """When it became due: what the queueing delay is measured from."""
    priority: int = 5
    rank: int = 0
    """Its place in the queue: due time less the priority's head start."""
    start_at: Instant
    """Its turn within the number's pace: not before."""
    channel: Channel = Channel.WHATSAPP
    subject: str | None = None
    dossier_id: int | None = None
    window_until: Instant | None = None
    """When the window between the number and this customer closes."""
    consent: str | None = None
    """The latest of its dossier, for its channel."""
    address_consent: str | None = None
    """The latest of the address itself, for its channel."""
    conversation_id: int | None = None
    talk: int | None = None
    """The conversation that it is shown in."""
    exempt: bool = False
    put_off_until: Instant | None = None
    put_off_by: str | None = None
    probe: GateId | None = None
    """The breaker that this message finds out about."""
    delivery: Delivery
    """As the claim left it; a settle that still finds it so needs not look again."""


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


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something in the life of a message that no other row records."""

    at: Instant
    kind: str
    detail: str

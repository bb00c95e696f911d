"""Request and response bodies of the outbound API, in camelCase, with times in RFC 3339."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from waypost.model.account import ApiKey, Number, Role, User
from waypost.model.ids import MessageId
from waypost.model.message import Attempt, AttemptStatus, Channel, Message, Status
from waypost.model.time import Instant, from_datetime, to_datetime
from waypost.model.update import JournalState
from waypost.ports.receiving.journal import JournalEntry
from waypost.rules.operations.timeline import TimelineMoment
from waypost.rules.sending.deferral import Deferral, next_retry_at

NO_NUL = "^[^\\x00]*$"
"""The only character that PostgreSQL cannot store in a text."""

Text = Annotated[str, Meta(min_length=1, max_length=255, pattern=NO_NUL)]
Secret = Annotated[str, Meta(min_length=1, max_length=512, pattern=NO_NUL)]
Token = Annotated[str, Meta(min_length=1, max_length=4096, pattern="^[!-~]+$(?!\n)")]
"""It is sent in a header, so it is visible ASCII."""
PhoneNumberIdText = Annotated[str, Meta(pattern="^[0-9A-Za-z_-]{1,64}$(?!\n)", examples=["106540352242922"])]
AccountId = Annotated[str, Meta(min_length=1, max_length=64, pattern=NO_NUL, examples=["102290129340398"])]
WebAddress = Annotated[str, Meta(max_length=512, examples=["https://graph.facebook.com/v25.0"])]
NumberCatalogue = Literal["meta", "seed"]
PaceValue = Annotated[int, Meta(ge=1, le=1000, description="Messages per second", examples=[80])]
TierValue = Annotated[
    int, Meta(ge=1, le=2**31 - 1, description="New customers a day that templates may reach", examples=[1000])
]
BigInt = Annotated[int, Meta(ge=1, le=2**63 - 1)]


def format_time(moment: Instant | None) -> datetime | None:
    return None if moment is None else to_datetime(moment)


def parse_time(moment: datetime | None) -> Instant | None:
    return None if moment is None else from_datetime(moment)


class CreateMessage(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A message to send. Without a templateCode, payloadJson is a Cloud API message or {"text": "…"}.

    On the channel EMAIL `to` is an address, `from` a mailbox's id, and payloadJson has text, html, replyTo, headers.
    """

    channel: Annotated[str, Meta(max_length=40, examples=["WHATSAPP"])]
    to: Annotated[str, Meta(max_length=254, examples=["+15550001111"])]
    sender: Annotated[str, Meta(max_length=64)] | None = msgspec.field(default=None, name="from")
    template_code: Annotated[str, Meta(min_length=1, max_length=512, pattern=NO_NUL)] | None = None
    subject: Annotated[str, Meta(max_length=1000, pattern=NO_NUL)] | None = None
    payload_json: Annotated[dict[str, Any], Meta(examples=[{"text": "Your order is on its way"}])] | None = None
    dossier_id: BigInt | None = None
    idempotency_key: Text | None = None
    priority: Annotated[int, Meta(ge=0, le=9)] = 5
    scheduled_at: Annotated[datetime, Meta(tz=True)] | None = None
    expires_at: Annotated[datetime, Meta(tz=True)] | None = None
    ordered: bool = False
    max_attempts: Annotated[int, Meta(ge=0, le=10)] = 5


class MessageView(msgspec.Struct, rename="camel", kw_only=True):
    """A message and its status."""

    id: int
    org_id: str
    sender: str = msgspec.field(name="from")
    dossier_id: int | None
    channel: Channel
    direction: Literal["OUTBOUND"]
    to: str
    template_code: str | None
    subject: str | None
    payload_json: Any
    status: Status
    provider_message_id: str | None
    idempotency_key: str
    attempt_count: int
    max_attempts: int
    error_code: str | None
    error_message: str | None
    next_retry_at: datetime | None
    priority: int
    ordered: bool
    scheduled_at: datetime | None
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime
    sent_at: datetime | None
    delivered_at: datetime | None
    read_at: datetime | None
    deferred_by: str | None
    behind: int | None
    """For a due ordered message: the message at the head of its queue."""


def message_view(message: Message, deferred: Deferral | None = None, head: MessageId | None = None) -> MessageView:
    draft, delivery = message.draft, message.delivery
    return MessageView(
        id=message.id,
        org_id=draft.org_id,
        sender=draft.sender,
        dossier_id=draft.dossier_id,
        channel=draft.channel,
        direction="OUTBOUND",
        to=draft.recipient,
        template_code=draft.template,
        subject=draft.subject,
        payload_json=msgspec.Raw(draft.payload.encode()),
        status=delivery.status,
        provider_message_id=delivery.provider_id,
        idempotency_key=draft.idempotency_key,
        attempt_count=delivery.tries,
        max_attempts=draft.max_attempts,
        error_code=delivery.error_code,
        error_message=delivery.error_message,
        next_retry_at=format_time(next_retry_at(delivery, deferred)),
        priority=draft.priority,
        ordered=draft.ordered,
        scheduled_at=format_time(draft.scheduled_at),
        expires_at=format_time(draft.expires_at),
        created_at=to_datetime(message.created_at),
        updated_at=to_datetime(delivery.updated_at),
        sent_at=format_time(delivery.sent_at),
        delivered_at=format_time(delivery.delivered_at),
        read_at=format_time(delivery.read_at),
        deferred_by=deferred.by if deferred else None,
        behind=head,
    )


class AttemptView(msgspec.Struct, rename="camel", kw_only=True):
    """One attempt; `attemptNo` counts within a generation, `id` is unique for the message."""

    id: str
    attempt_no: int
    generation: int
    status: AttemptStatus
    error_code: str | None
    error_message: str | None
    provider_response_json: Any
    next_retry_at: datetime | None
    created_at: datetime
    finished_at: datetime | None


def attempt_view(attempt: Attempt) -> AttemptView:
    return AttemptView(
        id=f"{attempt.message_id}.{attempt.fence}",
        attempt_no=attempt.attempt_no,
        generation=attempt.generation,
        status=attempt.status,
        error_code=attempt.error_code,
        error_message=attempt.error_message,
        provider_response_json=_as_json(attempt.response),
        next_retry_at=format_time(attempt.next_retry_at),
        created_at=to_datetime(attempt.created_at),
        finished_at=format_time(attempt.finished_at),
    )


def _as_json(text: str | None) -> Any:
    """The provider's response, parsed if it is JSON, else as text."""
    if text is None:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


class TimelineEvent(msgspec.Struct):
    at: datetime
    kind: str
    detail: str


class Timeline(msgspec.Struct, rename="camel", kw_only=True):
    why: str
    """The current state and what happens next, in one line."""
    next_at: datetime | None
    """When it continues by itself, if known."""
    events: list[TimelineEvent]


def timeline_view(moments: list[TimelineMoment], why: str, next_at: Instant | None) -> Timeline:
    events = [TimelineEvent(to_datetime(m.at), m.kind, m.detail) for m in moments]
    return Timeline(why=why, next_at=format_time(next_at), events=events)


class MessagePage(msgspec.Struct, rename="camel"):
    content: list[MessageView]
    page: int
    size: int
    total_elements: int
    total_pages: int


class ConnectNumber(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A WhatsApp number and its secrets; they are encrypted at rest and never shown again."""

    phone_number_id: PhoneNumberIdText
    waba_id: AccountId
    token: Token
    app_secret: Secret
    verify_token: Secret
    graph_url: WebAddress | None = None
    error_catalogue: NumberCatalogue = "meta"
    enabled: bool = True
    pace: PaceValue | None = None
    tier: TierValue | None = None


class ChangeNumber(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The fields to change; omitted fields stay."""

    waba_id: AccountId | UnsetType = UNSET
    token: Token | UnsetType = UNSET
    app_secret: Secret | UnsetType = UNSET
    verify_token: Secret | UnsetType = UNSET
    graph_url: WebAddress | UnsetType = UNSET
    error_catalogue: NumberCatalogue | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    pace: PaceValue | UnsetType = UNSET
    tier: TierValue | UnsetType = UNSET
    failover: PhoneNumberIdText | UnsetType | None = UNSET
    """Another number of the org that sends when this one cannot for long; null removes it."""


class NumberView(msgspec.Struct, kw_only=True):
    phone_number_id: str
    org_id: str
    waba_id: str
    graph_url: str | None
    error_catalogue: str
    enabled: bool
    pace: int
    tier: int | None
    failover: str | None
    created_at: datetime
    updated_at: datetime
    tried_at: datetime | None
    """When the provider last confirmed the number with this token."""


def number_view(number: Number, tried_at: Instant | None) -> NumberView:
    return NumberView(
        phone_number_id=number.id,
        org_id=number.org_id,
        waba_id=number.waba_id,
        graph_url=number.graph_url,
        error_catalogue=number.error_catalogue,
        enabled=number.enabled,
        pace=number.pace,
        tier=number.tier,
        failover=number.failover,
        created_at=to_datetime(number.created_at),
        updated_at=to_datetime(number.updated_at),
        tried_at=format_time(tried_at),
    )


class CreateKey(msgspec.Struct, forbid_unknown_fields=True):
    role: Literal["admin", "sender", "readonly"]
    label: Annotated[str, Meta(max_length=255, pattern=NO_NUL)] = ""


class RotateKey(msgspec.Struct, forbid_unknown_fields=True):
    grace_minutes: Annotated[float, Meta(ge=0, le=525_600)] = 60
    """How long the old key still works."""


class KeyView(msgspec.Struct, kw_only=True, omit_defaults=True):
    key_id: str
    role: Role
    label: str
    created_at: datetime | None = None
    key: str | None = None
    """Only in the response that created it."""


def key_view(key: ApiKey) -> KeyView:
    return KeyView(key_id=key.id, role=key.role, label=key.label, created_at=to_datetime(key.created_at))


class CreateUser(msgspec.Struct, forbid_unknown_fields=True):
    name: Text
    role: Literal["agent", "admin"] = "agent"


class UserView(msgspec.Struct, kw_only=True, omit_defaults=True):
    user_id: str
    name: str
    role: Role
    token: str | None = None
    """Only in the response that created it."""


def user_view(user: User) -> UserView:
    return UserView(user_id=user.id, name=user.name, role=user.role)


class JournalView(msgspec.Struct, kw_only=True):
    id: int
    number: str
    kind: str
    key: str
    state: JournalState
    error: str | None
    told_at: datetime | None
    """The provider's own time of the item, if it has one."""
    received_at: datetime
    body: str


def journal_view(entry: JournalEntry) -> JournalView:
    item = entry.item
    return JournalView(
        id=entry.id,
        number=item.number,
        kind=item.kind,
        key=item.key,
        state=JournalState(item.state),
        error=item.error,
        told_at=None if item.told_at is None else to_datetime(item.told_at),
        received_at=to_datetime(entry.received_at),
        body=item.body,
    )

"""The items of a webhook POST with a valid signature."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import msgspec

from waypost.model.conversation import InboundMessage
from waypost.model.gate import GateClosing
from waypost.model.ids import Fence, MessageId, NumberId, OrgId, Wamid
from waypost.model.money import Charge, Pricing
from waypost.model.time import Instant


class StatusKind(StrEnum):
    """The provider's statuses of a message."""

    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    PLAYED = "played"
    FAILED = "failed"


class Echo(msgspec.Struct, frozen=True, gc=False):
    """Our message id and fence, echoed in `biz_opaque_callback_data`."""

    message_id: MessageId
    fence: Fence


StatusKey: TypeAlias = tuple[NumberId, Wamid, str, str]
"""Number, wamid, kind and participant: a status with the same key is a duplicate."""


class StatusUpdate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    org_id: OrgId
    number: NumberId
    wamid: Wamid
    kind: StatusKind
    participant: str
    """Empty except for group messages, which have a status per participant."""
    at: Instant
    recipient: str
    echo: Echo | None
    error_code: str | None
    error_message: str | None
    body: str
    """The status as received, JSON text."""
    pricing: Pricing | None = None
    charge: Charge | None = None
    """The cost to record once per wamid; only a status that confirms delivery has one."""

    @property
    def name(self) -> StatusKey:
        return self.number, self.wamid, self.kind.value, self.participant


class JournalItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An inbound message or update, stored whole for a later step."""

    org_id: OrgId
    number: NumberId
    kind: str
    key: str
    body: str
    state: str = "pending"
    error: str | None = None
    told_at: Instant | None = None
    """When the provider sent it, if it says."""


class FailureClosing(msgspec.Struct, frozen=True, gc=False):
    """A gate to close, and the failure that causes it."""

    update: StatusUpdate
    closing: GateClosing


class WebhookBatch(msgspec.Struct, frozen=True):
    """All items of one webhook POST for our numbers; they commit together."""

    statuses: list[StatusUpdate]
    items: list[JournalItem]
    inbound: list[InboundMessage] = []
    """Customers' messages."""
    closings: list[FailureClosing] = []
    """Gates that its failed statuses close."""

    @property
    def only_statuses(self) -> bool:
        return not (self.items or self.inbound or self.closings)

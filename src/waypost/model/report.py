"""What a webhook POST tells us, item by item, after its signature was checked."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import msgspec

from waypost.model.conversation import Arrival
from waypost.model.gate import Closing
from waypost.model.ids import Fence, MessageId, NumberId, OrgId, Wamid
from waypost.model.money import Charge, Pricing
from waypost.model.time import Instant


class ReportKind(StrEnum):
    """The provider's words for what became of a message."""

    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    PLAYED = "played"
    FAILED = "failed"


class Echo(msgspec.Struct, frozen=True, gc=False):
    """Our own id and fence, as they came back in `biz_opaque_callback_data`."""

    message_id: MessageId
    fence: Fence


ReportName: TypeAlias = tuple[NumberId, Wamid, str, str]
"""Number, wamid, kind and participant: a status that has the same was told before."""


class StatusReport(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    org_id: OrgId
    number: NumberId
    wamid: Wamid
    kind: ReportKind
    participant: str
    """Empty but for group messages, where each participant reports."""
    at: Instant
    recipient: str
    echo: Echo | None
    error_code: str | None
    error_message: str | None
    body: str
    """The status as it came, JSON text."""
    pricing: Pricing | None = None
    charge: Charge | None = None
    """To be booked, once per wamid: only a status that says that the message arrived has one."""

    @property
    def name(self) -> ReportName:
        return self.number, self.wamid, self.kind.value, self.participant


class JournalItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An inbound message or update that is kept whole until a later step takes it."""

    org_id: OrgId
    number: NumberId
    kind: str
    key: str
    body: str
    state: str = "pending"
    error: str | None = None
    told_at: Instant | None = None
    """When the provider said it, where it says so."""


class Reported(msgspec.Struct, frozen=True, gc=False):
    """A gate that is to be closed, and the failure that says so."""

    told: StatusReport
    closing: Closing


class Post(msgspec.Struct, frozen=True):
    """Everything of one webhook POST that is ours; commits together."""

    reports: list[StatusReport]
    items: list[JournalItem]
    arrivals: list[Arrival] = []
    """What customers wrote."""
    closings: list[Reported] = []
    """Gates that its failures close."""

    @property
    def only_reports(self) -> bool:
        return not (self.items or self.arrivals or self.closings)

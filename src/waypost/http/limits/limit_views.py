"""Request and response bodies of quotas, gates, windows, statistics and dead letters."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from waypost.flow.operations.limits_admin import Quota, ServiceWindow
from waypost.http.limits.spend import SpentThisMonth
from waypost.http.sending.views import BigInt, MessageView, Text, format_time
from waypost.model.gate import GateKind
from waypost.model.time import to_datetime
from waypost.ports.limits.gates import ClosedGate
from waypost.rules.operations.figures import MessageStats, Percentiles
from waypost.rules.operations.remedy import remedy


class QuotaView(msgspec.Struct, rename="camel", kw_only=True):
    """Messages the org has sent in the current 24 hours; null means no limit."""

    messages_sent: int
    quota_limit: int | None
    remaining_quota: int | None
    reset_at: datetime
    throttled: bool
    throttled_until: datetime | None


def quota_view(quota: Quota) -> QuotaView:
    return QuotaView(
        messages_sent=quota.sent,
        quota_limit=quota.limit,
        remaining_quota=quota.remaining,
        reset_at=to_datetime(quota.resets_at),
        throttled=quota.throttled_until is not None,
        throttled_until=format_time(quota.throttled_until),
    )


class SetQuota(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Messages in 24 hours; null for no limit."""

    quota_limit: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None


class GateView(msgspec.Struct, rename="camel", kw_only=True):
    """A closed gate: a hold, throttle or breaker that keeps messages in the queue."""

    id: int
    name: str
    """`org:…`, `number:…`, `account:…` or `template:account/name`."""
    kind: str
    code: str
    reason: str
    since: datetime
    until: datetime | None
    """Null: closed until it is released."""
    waiting: int
    """Due messages waiting behind it, counted up to 10000."""
    remedy: str | None
    """What to do about a hold; null for a gate that opens by itself."""


class GateList(msgspec.Struct):
    content: list[GateView]


def gate_view(closed: ClosedGate) -> GateView:
    gate = closed.gate
    return GateView(
        id=gate.id,
        name=gate.name,
        kind=gate.kind.value,
        code=gate.code,
        reason=gate.reason,
        since=to_datetime(gate.since),
        until=format_time(gate.until),
        waiting=closed.waiting,
        remedy=remedy(gate.code, gate.name, gate.org_id) if gate.kind is GateKind.HOLD else None,
    )


class WindowView(msgspec.Struct, rename="camel", kw_only=True):
    """The 24 hours after a customer's last message; with several numbers, the window that stays open longest."""

    phone_number: str
    sender: str | None = msgspec.field(name="from")
    open: bool
    window_opens_at: datetime | None
    window_expires_at: datetime | None
    last_inbound_message_at: datetime | None
    last_outbound_message_at: datetime | None


def window_view(phone: str, found: ServiceWindow) -> WindowView:
    recipient = found.pair
    return WindowView(
        phone_number=phone,
        sender=recipient.sender if recipient else None,
        open=found.open,
        window_opens_at=format_time(recipient.opened_at) if recipient else None,
        window_expires_at=format_time(recipient.expires_at) if recipient else None,
        last_inbound_message_at=format_time(recipient.last_inbound_at) if recipient else None,
        last_outbound_message_at=format_time(found.last_outbound_at),
    )


class StatsView(msgspec.Struct, rename="camel", kw_only=True):
    """Counts cover all messages, each up to 100000; the rest covers the newest `lookedAt` messages."""

    counts: dict[str, int]
    looked_at: int
    retries_by_attempt: dict[str, int]
    """By attempt number: "2" is the first retry."""
    queued_to_sent_seconds: Percentiles
    sent_to_delivered_seconds: Percentiles
    spend: SpentThisMonth


def stats_view(figures: MessageStats, spend: SpentThisMonth) -> StatsView:
    return StatsView(
        counts={status.value: count for status, count in figures.counts.items()},
        looked_at=figures.looked_at,
        retries_by_attempt={str(number): count for number, count in sorted(figures.retries.items())},
        queued_to_sent_seconds=figures.queued_to_sent,
        sent_to_delivered_seconds=figures.sent_to_delivered,
        spend=spend,
    )


class DeadLetters(msgspec.Struct):
    content: list[MessageView]


class ReplayDeadLetters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """By ids, by error code, or by both; with neither, all."""

    ids: Annotated[list[BigInt], Meta(min_length=1, max_length=1000)] | None = None
    error_code: Text | None = None


class ReplayedView(msgspec.Struct):
    replayed: int
    more: bool
    """One call replays at most 10000; true when there are more."""

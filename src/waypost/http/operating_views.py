"""What the routes of the rules take and show."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from waypost.flow.policy import Quota, Window
from waypost.http.spend import SpentThisMonth
from waypost.http.views import BigInt, MessageView, Text, shown
from waypost.model.gate import GateKind
from waypost.model.time import to_datetime
from waypost.ports.gates import Closed
from waypost.rules.figures import Figures, Spread
from waypost.rules.remedy import remedy


class QuotaView(msgspec.Struct, rename="camel", kw_only=True):
    """What the org sent in the 24 hours under way; null is no limit."""

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
        throttled_until=shown(quota.throttled_until),
    )


class SetQuota(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Messages in 24 hours; null for no limit."""

    quota_limit: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None


class GateView(msgspec.Struct, rename="camel", kw_only=True):
    """What stands in the way of many messages at once."""

    id: int
    name: str
    """`org:…`, `number:…`, `account:…` or `template:account/name`."""
    kind: str
    code: str
    reason: str
    since: datetime
    until: datetime | None
    """Null: until somebody opens it."""
    waiting: int
    """Messages that are due and stand behind it, counted up to 10000."""
    remedy: str | None
    """What to do about a hold; null for what opens by itself."""


class GateList(msgspec.Struct):
    content: list[GateView]


def gate_view(closed: Closed) -> GateView:
    gate = closed.gate
    return GateView(
        id=gate.id,
        name=gate.name,
        kind=gate.kind.value,
        code=gate.code,
        reason=gate.reason,
        since=to_datetime(gate.since),
        until=shown(gate.until),
        waiting=closed.waiting,
        remedy=remedy(gate.code, gate.name, gate.org_id) if gate.kind is GateKind.HOLD else None,
    )


class WindowView(msgspec.Struct, rename="camel", kw_only=True):
    """The 24 hours after a customer's own message; of several numbers, the one that stays open longest."""

    phone_number: str
    sender: str | None = msgspec.field(name="from")
    open: bool
    window_opens_at: datetime | None
    window_expires_at: datetime | None
    last_inbound_message_at: datetime | None
    last_outbound_message_at: datetime | None


def window_view(phone: str, found: Window) -> WindowView:
    pair = found.pair
    return WindowView(
        phone_number=phone,
        sender=pair.sender if pair else None,
        open=found.open,
        window_opens_at=shown(pair.opened_at) if pair else None,
        window_expires_at=shown(pair.expires_at) if pair else None,
        last_inbound_message_at=shown(pair.last_inbound_at) if pair else None,
        last_outbound_message_at=shown(found.last_outbound_at),
    )


class StatsView(msgspec.Struct, rename="camel", kw_only=True):
    """Counts are of all messages, each up to 100000; the rest is of the newest ones, `lookedAt` in number."""

    counts: dict[str, int]
    looked_at: int
    retries_by_attempt: dict[str, int]
    """By the number of the try: "2" is a first retry."""
    queued_to_sent_seconds: Spread
    sent_to_delivered_seconds: Spread
    spend: SpentThisMonth


def stats_view(figures: Figures, spend: SpentThisMonth) -> StatsView:
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
    """Those that are named, those with an error code, those that are both; with neither, all."""

    ids: Annotated[list[BigInt], Meta(min_length=1, max_length=1000)] | None = None
    error_code: Text | None = None


class ReplayedView(msgspec.Struct):
    replayed: int
    more: bool
    """One call takes 10000 at most: true when there are others."""

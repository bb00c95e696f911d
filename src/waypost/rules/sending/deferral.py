"""The rule that defers a queued message, and until when; computed on request, not stored."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from waypost.model.gate import DispatchGroup, GateName
from waypost.model.message import Delivery, Status
from waypost.model.time import Instant
from waypost.rules.limits import gates, send_pace
from waypost.rules.limits.send_pace import Permit

QUOTA = "quota"
PACING = "pacing"


class Deferral(msgspec.Struct, frozen=True, kw_only=True):
    by: str
    """`quota`, `throttle`, `pacing`, `breaker`, `hold`, or the name of another rule."""
    until: Instant | None
    """None: until a person removes the cause."""
    reason: str = ""
    code: str = ""
    """The error code that closed the gate, if there is one."""
    gate: GateName | None = None
    """The closed gate, if there is one."""


def deferral(
    delivery: Delivery, group: DispatchGroup | None, permits: Mapping[str, Permit], now: Instant
) -> Deferral | None:
    """`group` is set for a message that is due; a message that is not due has its own `deferred_by`."""
    if delivery.status is not Status.QUEUED:
        return None
    if delivery.due_at is not None and delivery.due_at > now:
        return Deferral(by=delivery.deferred_by, until=delivery.due_at) if delivery.deferred_by else None
    return None if group is None else behind(group, permits, now)


def behind(group: DispatchGroup, permits: Mapping[str, Permit], now: Instant) -> Deferral | None:
    """What blocks all messages of a dispatch group: its gate, else its org's quota, else its number's pace."""
    gate = group.gate
    if gate is not None and gates.is_closed(gate, now):
        return Deferral(by=gate.kind.value, until=gate.until, reason=gate.reason, code=gate.code, gate=gate.name)
    return _used_up(group, permits, now) or _paced(group, permits, now)


def _used_up(group: DispatchGroup, permits: Mapping[str, Permit], now: Instant) -> Deferral | None:
    quota = permits.get(send_pace.quota_of(group.org_id))
    if quota is not None and send_pace.remaining(quota, now) == 0:
        reason = f"{quota.used} of the {quota.most} messages of the org's quota are used"
        return Deferral(by=QUOTA, until=send_pace.resets_at(quota), reason=reason)
    tier = permits.get(send_pace.tier_of(group)) if group.template else None
    if tier is not None and send_pace.remaining(tier, now) == 0:
        reason = f"templates of number {group.sender} have reached the {tier.most} new customers that a day allows"
        return Deferral(by=PACING, until=send_pace.resets_at(tier), reason=reason)
    return None


def _paced(group: DispatchGroup, permits: Mapping[str, Permit], now: Instant) -> Deferral | None:
    pace = permits.get(send_pace.pace_of(group))
    if pace is None or group.pace is None or send_pace.paced(pace, group.pace, now) > 0:
        return None
    reason = f"number {group.sender} sends {group.pace} a second, and others go first"
    return Deferral(by=PACING, until=pace.free_at, reason=reason)


def next_retry_at(delivery: Delivery, deferred: Deferral | None) -> Instant | None:
    """When the next attempt may come, for a message that was attempted or deferred before."""
    if deferred is not None:
        return deferred.until
    return delivery.due_at if delivery.error_code else None

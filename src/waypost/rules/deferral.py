"""Which rule keeps a queued message waiting, and until when: derived when somebody asks, stored nowhere."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from waypost.model.gate import GateName, Outlet
from waypost.model.message import Delivery, Status
from waypost.model.time import Instant
from waypost.rules import gates, pacing
from waypost.rules.pacing import Permit

QUOTA = "quota"
PACING = "pacing"


class Deferral(msgspec.Struct, frozen=True, kw_only=True):
    by: str
    """`quota`, `throttle`, `pacing`, `breaker`, `hold`, or whatever else a rule is called."""
    until: Instant | None
    """None: until somebody removes the cause."""
    reason: str = ""
    code: str = ""
    """What closed the gate, if it is one."""
    gate: GateName | None = None
    """The closed one, if it is a gate."""


def deferral(delivery: Delivery, outlet: Outlet | None, permits: Mapping[str, Permit], now: Instant) -> Deferral | None:
    """`outlet` is known of a message that could be claimed now; one that waits for its time says itself why."""
    if delivery.status is not Status.QUEUED:
        return None
    if delivery.due_at is not None and delivery.due_at > now:
        return Deferral(by=delivery.deferred_by, until=delivery.due_at) if delivery.deferred_by else None
    return None if outlet is None else behind(outlet, permits, now)


def behind(outlet: Outlet, permits: Mapping[str, Permit], now: Instant) -> Deferral | None:
    """What stops every message of an outlet: its gate, else its org's quota, else its number's pace."""
    gate = outlet.gate
    if gate is not None and gates.is_closed(gate, now):
        return Deferral(by=gate.kind.value, until=gate.until, reason=gate.reason, code=gate.code, gate=gate.name)
    return _used_up(outlet, permits, now) or _paced(outlet, permits, now)


def _used_up(outlet: Outlet, permits: Mapping[str, Permit], now: Instant) -> Deferral | None:
    quota = permits.get(pacing.quota_of(outlet.org_id))
    if quota is not None and pacing.remaining(quota, now) == 0:
        reason = f"{quota.used} of the {quota.most} messages of the org's quota are used"
        return Deferral(by=QUOTA, until=pacing.resets_at(quota), reason=reason)
    tier = permits.get(pacing.tier_of(outlet)) if outlet.template else None
    if tier is not None and pacing.remaining(tier, now) == 0:
        reason = f"templates of number {outlet.sender} have reached the {tier.most} new customers that a day allows"
        return Deferral(by=PACING, until=pacing.resets_at(tier), reason=reason)
    return None


def _paced(outlet: Outlet, permits: Mapping[str, Permit], now: Instant) -> Deferral | None:
    pace = permits.get(pacing.pace_of(outlet))
    if pace is None or outlet.pace is None or pacing.paced(pace, outlet.pace, now) > 0:
        return None
    reason = f"number {outlet.sender} sends {outlet.pace} a second, and others go first"
    return Deferral(by=PACING, until=pace.free_at, reason=reason)


def next_retry_at(delivery: Delivery, deferred: Deferral | None) -> Instant | None:
    """When the next try may come, of a message that was tried or put off before."""
    if deferred is not None:
        return deferred.until
    return delivery.due_at if delivery.error_code else None

"""What the messages of an outlet wait for, and how outlets add up to what an operator sees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from waypost.model.figures import Waiting
from waypost.model.gate import Outlet
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.rules import gates, pacing
from waypost.rules.pacing import Permit

NOTHING = "none"
PACING = "pacing"


def waits_for(outlet: Outlet, permits: Mapping[str, Permit], now: Instant) -> str:
    if outlet.gate is not None and gates.is_closed(outlet.gate, now):
        return outlet.gate.kind.value
    quota = permits.get(pacing.quota_of(outlet.org_id))
    if quota is not None and pacing.remaining(quota, now) == 0:
        return "quota"
    tier = permits.get(pacing.tier_of(outlet)) if outlet.template else None
    if tier is not None and pacing.remaining(tier, now) == 0:
        return PACING
    pace = permits.get(pacing.pace_of(outlet))
    return PACING if pace is not None and pace.free_at > now + pacing.HORIZON else NOTHING


def added_up(
    queues: Iterable[tuple[Outlet, int, Instant]], permits: Mapping[str, Permit], most: int, now: Instant
) -> list[Waiting]:
    """By org and reason, the longest first."""
    found: dict[tuple[OrgId, str], Waiting] = {}
    for outlet, messages, oldest_at in queues:
        key = (outlet.org_id, waits_for(outlet, permits, now))
        before = found.get(key, Waiting(*key, 0, oldest_at))
        found[key] = Waiting(*key, before.messages + messages, min(before.oldest_at, oldest_at))
    return sorted(found.values(), key=_longest_first)[:most]


def _longest_first(waiting: Waiting) -> tuple[int, str, str]:
    return -waiting.messages, waiting.org_id, waiting.reason

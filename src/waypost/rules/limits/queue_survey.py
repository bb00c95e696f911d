"""Why the messages of a dispatch group wait, and totals for operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from waypost.model.gate import DispatchGroup
from waypost.model.ids import OrgId
from waypost.model.queue_stats import WaitingMessages
from waypost.model.time import Instant
from waypost.rules.limits import gates, send_pace
from waypost.rules.limits.send_pace import Permit

NOTHING = "none"
PACING = "pacing"


def waits_for(group: DispatchGroup, permits: Mapping[str, Permit], now: Instant) -> str:
    if group.gate is not None and gates.is_closed(group.gate, now):
        return group.gate.kind.value
    quota = permits.get(send_pace.quota_of(group.org_id))
    if quota is not None and send_pace.remaining(quota, now) == 0:
        return "quota"
    tier = permits.get(send_pace.tier_of(group)) if group.template else None
    if tier is not None and send_pace.remaining(tier, now) == 0:
        return PACING
    pace = permits.get(send_pace.pace_of(group))
    return PACING if pace is not None and pace.free_at > now + send_pace.HORIZON else NOTHING


def waiting_totals(
    queues: Iterable[tuple[DispatchGroup, int, Instant]], permits: Mapping[str, Permit], most: int, now: Instant
) -> list[WaitingMessages]:
    """By org and reason, longest queue first."""
    found: dict[tuple[OrgId, str], WaitingMessages] = {}
    for group, messages, oldest_at in queues:
        key = (group.org_id, waits_for(group, permits, now))
        before = found.get(key, WaitingMessages(*key, 0, oldest_at))
        found[key] = WaitingMessages(*key, before.messages + messages, min(before.oldest_at, oldest_at))
    return sorted(found.values(), key=_longest_first)[:most]


def _longest_first(waiting: WaitingMessages) -> tuple[int, str, str]:
    return -waiting.messages, waiting.org_id, waiting.reason

"""Permits of a number's pace and an org's quota, shared fairly between dispatch groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from waypost.model.gate import DispatchGroup
from waypost.model.time import Instant, Span, days, minutes, seconds
from waypost.rules.limits import gates

HORIZON: Span = seconds(0.1)
"""How far ahead a claim may draw; each message then waits for its own time slot, so that sends stay smooth."""

TRUSTED: Span = seconds(10)
"""Maximum difference between our processes' clocks. No claim draws further ahead: a later `free_at` came from a wrong
clock and is ignored."""

SKEW: Span = minutes(1)
"""A window that begins further in the future than this came from a wrong clock, or ours is wrong: it is not changed."""

WINDOW: Span = days(1)
"""The period of a quota."""


class Permit(msgspec.Struct, frozen=True, kw_only=True):
    """The remaining permits of one scope; a claim locks its row to draw from it."""

    name: str
    free_at: Instant
    """Of a pace: when the next message may be sent."""
    used: int
    """Of a quota: drawn since `since`."""
    since: Instant
    most: int | None
    """Of a quota: None is no limit."""


def interval(pace: int) -> Span:
    return Span(-(-1_000_000 // pace))


def free_from(permit: Permit, now: Instant) -> Instant:
    return permit.free_at if now < permit.free_at <= now + TRUSTED else now


def paced(permit: Permit, pace: int, now: Instant) -> int:
    """How many messages may start within the horizon."""
    ahead = free_from(permit, now) - now
    return 0 if ahead > HORIZON else 1 + (HORIZON - ahead) // interval(pace)


def draw_pace(permit: Permit, pace: int, count: int, now: Instant) -> tuple[Permit, list[Instant]]:
    """The permit afterwards, and the time slot of each of `count` messages."""
    first, step = free_from(permit, now), interval(pace)
    starts = [Instant(first + step * n) for n in range(count)]
    return msgspec.structs.replace(permit, free_at=Instant(first + step * count)), starts


def current(permit: Permit, now: Instant) -> Permit:
    """The quota, restarted if its window has ended."""
    if now < permit.since <= now + SKEW:  # just begun by another process: our refund belongs to it, too
        return msgspec.structs.replace(permit, since=now)
    if now < permit.since + WINDOW:
        return permit
    return msgspec.structs.replace(permit, used=0, since=now)


def remaining(permit: Permit, now: Instant) -> int | None:
    if permit.most is None:
        return None
    return max(0, permit.most - current(permit, now).used)


def draw_quota(permit: Permit, count: int, now: Instant) -> Permit:
    fresh = current(permit, now)
    return msgspec.structs.replace(fresh, used=fresh.used + count)


def refund(permit: Permit, drawn_at: Sequence[Instant]) -> Permit:
    """Return permits drawn in this window; those of an earlier window have expired."""
    back = sum(1 for at in drawn_at if at >= permit.since)
    return msgspec.structs.replace(permit, used=max(0, permit.used - back))


def resets_at(permit: Permit) -> Instant:
    return Instant(permit.since + WINDOW)


def pace_of(group: DispatchGroup) -> str:
    return f"pace:{group.sender}"


def quota_of(org: str) -> str:
    return f"quota:{org}"


def tier_of(group: DispatchGroup) -> str:
    return f"tier:{group.sender}"


def needed(groups: Sequence[DispatchGroup]) -> list[str]:
    """The permits that these dispatch groups draw from, in lock order."""
    names = {quota_of(group.org_id) for group in groups}
    names |= {pace_of(group) for group in groups if group.pace is not None}
    names |= {tier_of(group) for group in groups if group.tier is not None and group.template}
    return sorted(names)


def open_outlets(groups: Sequence[DispatchGroup], now: Instant) -> list[DispatchGroup]:
    """The groups that no gate blocks; a breaker allows its probe."""
    return [group for group in groups if group.gate is None or not gates.is_closed(group.gate, now)]


class Shares:
    """Shares slots between dispatch groups, never more than their permits allow."""

    def __init__(
        self, groups: Sequence[DispatchGroup], permits: Mapping[str, Permit], slots: int, now: Instant
    ) -> None:
        self._groups = list(groups)
        self._left = {name: _capacity(name, permit, groups, now) for name, permit in permits.items()}
        self._probes = {o.id: f"probe:{o.gate.name}" for o in groups if o.gate and gates.wants_probe(o.gate, now)}
        self._left |= dict.fromkeys(self._probes.values(), 1)
        self.slots = slots
        self.emptied: set[int] = set()
        """Groups without more messages."""
        self._first_round = True
        self.reached = 0
        """The last group served if slots ran out; the next claim continues there."""

    def next_round(self) -> dict[int, int]:
        """How many messages to take from each group now; a group that yields fewer is empty and leaves."""
        asked: dict[int, int] = {}
        groups = self._groups
        for position, group in enumerate(groups):
            if self.slots <= 0:
                self.reached = groups[position - 1].id if self._first_round else self.reached
                break
            fair = -(-self.slots // (len(groups) - position))
            count = min(fair, self._allowed(group))
            if count > 0:
                asked[group.id] = count
                self._spend(group, count)
        self._first_round = False
        return asked

    def took(self, asked: Mapping[int, int], taken: Mapping[int, int]) -> None:
        """Return unused shares; only groups that yielded all that was asked may have more."""
        for group in self._groups:
            self._spend(group, taken.get(group.id, 0) - asked.get(group.id, 0))
        self.emptied |= {o.id for o in self._groups if taken.get(o.id, 0) < asked.get(o.id, 0)}
        self._groups = [o for o in self._groups if o.id not in self.emptied and self._allowed(o) > 0]

    @property
    def hungry(self) -> bool:
        """Whether slots and groups are left."""
        return self.slots > 0 and bool(self._groups)

    def _allowed(self, group: DispatchGroup) -> int:
        return min([self.slots, *(self._left[name] for name in self._names(group) if name in self._left)])

    def _names(self, group: DispatchGroup) -> list[str]:
        names = [quota_of(group.org_id), pace_of(group), self._probes.get(group.id, "")]
        return [*names, tier_of(group)] if group.template else names

    def _spend(self, group: DispatchGroup, count: int) -> None:
        self.slots -= count
        for name in self._names(group):
            if name in self._left:
                self._left[name] -= count


def _capacity(name: str, permit: Permit, groups: Sequence[DispatchGroup], now: Instant) -> int:
    if name.startswith("pace:"):
        pace = next((group.pace for group in groups if pace_of(group) == name and group.pace), 1)
        return paced(permit, pace, now)
    left = remaining(permit, now)
    return 1_000_000 if left is None else left


def opens_at(groups: Sequence[DispatchGroup], permits: Mapping[str, Permit], now: Instant) -> Instant | None:
    """When the first of these groups may send again; None if unknown, e.g. with a quota of 0."""
    moments = [moment for group in groups if (moment := _opens_at(group, permits, now)) is not None]
    return min(moments, default=None)


def _opens_at(group: DispatchGroup, permits: Mapping[str, Permit], now: Instant) -> Instant | None:
    if group.gate is not None and gates.is_closed(group.gate, now):
        return group.gate.until
    latest = now
    for name in (quota_of(group.org_id), tier_of(group) if group.template else ""):
        permit = permits.get(name)
        if permit is None or remaining(permit, now) != 0:
            continue
        if permit.most == 0:
            return None
        latest = max(latest, resets_at(permit))
    pace = permits.get(pace_of(group))
    return Instant(max(latest, free_from(pace, now) - HORIZON)) if pace else latest

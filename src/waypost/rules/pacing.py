"""Who may send how many now: permits of a number's pace and an org's quota, shared out fairly between outlets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from waypost.model.gate import Outlet
from waypost.model.time import Instant, Span, days, minutes, seconds
from waypost.rules import gates

HORIZON: Span = seconds(0.1)
"""How far ahead a claim may draw; each message then waits for its own moment, so that sends stay smooth."""

TRUSTED: Span = seconds(10)
"""How far apart the clocks of our processes may be. No claim draws as far ahead: what is further was drawn by a clock
that was wrong, and must not keep the number waiting until then."""

SKEW: Span = minutes(1)
"""A window that seems to begin later than this from now was begun by a clock that is wrong, or ours is: it stays."""

WINDOW: Span = days(1)
"""What a quota counts over."""


class Permit(msgspec.Struct, frozen=True, kw_only=True):
    """What one scope may still do: its row is locked by whoever draws from it."""

    name: str
    free_at: Instant
    """Of a pace: when the next message may go."""
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
    """The permit afterwards, and the moment at which each of `count` messages may go."""
    first, step = free_from(permit, now), interval(pace)
    starts = [Instant(first + step * n) for n in range(count)]
    return msgspec.structs.replace(permit, free_at=Instant(first + step * count)), starts


def current(permit: Permit, now: Instant) -> Permit:
    """A quota begins again by itself when its window is over."""
    if now < permit.since <= now + SKEW:  # begun a moment ago by another: a refund of ours belongs to it, too
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
    """Give back what was drawn in this window; what an earlier one gave is over."""
    back = sum(1 for at in drawn_at if at >= permit.since)
    return msgspec.structs.replace(permit, used=max(0, permit.used - back))


def resets_at(permit: Permit) -> Instant:
    return Instant(permit.since + WINDOW)


def pace_of(outlet: Outlet) -> str:
    return f"pace:{outlet.sender}"


def quota_of(org: str) -> str:
    return f"quota:{org}"


def tier_of(outlet: Outlet) -> str:
    return f"tier:{outlet.sender}"


def needed(outlets: Sequence[Outlet]) -> list[str]:
    """The permits that these outlets draw from, in the order in which they are locked."""
    names = {quota_of(outlet.org_id) for outlet in outlets}
    names |= {pace_of(outlet) for outlet in outlets if outlet.pace is not None}
    names |= {tier_of(outlet) for outlet in outlets if outlet.tier is not None and outlet.template}
    return sorted(names)


def open_outlets(outlets: Sequence[Outlet], now: Instant) -> list[Outlet]:
    """Those that no gate stops; a breaker lets its probe through."""
    return [outlet for outlet in outlets if outlet.gate is None or not gates.is_closed(outlet.gate, now)]


class Shares:
    """Shares slots out between outlets, never more than their permits allow."""

    def __init__(self, outlets: Sequence[Outlet], permits: Mapping[str, Permit], slots: int, now: Instant) -> None:
        self._outlets = list(outlets)
        self._left = {name: _capacity(name, permit, outlets, now) for name, permit in permits.items()}
        self._probes = {o.id: f"probe:{o.gate.name}" for o in outlets if o.gate and gates.wants_probe(o.gate, now)}
        self._left |= dict.fromkeys(self._probes.values(), 1)
        self.slots = slots
        self.emptied: set[int] = set()
        """Outlets that gave all they had."""
        self._first_round = True
        self.reached = 0
        """The last outlet that had a turn, where slots ran out before all had theirs; the next claim goes on there."""

    def next_round(self) -> dict[int, int]:
        """How many of each outlet to take now; whoever gives fewer has no more, and leaves the round."""
        asked: dict[int, int] = {}
        outlets = self._outlets
        for position, outlet in enumerate(outlets):
            if self.slots <= 0:
                self.reached = outlets[position - 1].id if self._first_round else self.reached
                break
            fair = -(-self.slots // (len(outlets) - position))
            count = min(fair, self._allowed(outlet))
            if count > 0:
                asked[outlet.id] = count
                self._spend(outlet, count)
        self._first_round = False
        return asked

    def took(self, asked: Mapping[int, int], taken: Mapping[int, int]) -> None:
        """Give back what was asked for and not there; only those that gave all may have more, if their permits do."""
        for outlet in self._outlets:
            self._spend(outlet, taken.get(outlet.id, 0) - asked.get(outlet.id, 0))
        self.emptied |= {o.id for o in self._outlets if taken.get(o.id, 0) < asked.get(o.id, 0)}
        self._outlets = [o for o in self._outlets if o.id not in self.emptied and self._allowed(o) > 0]

    @property
    def hungry(self) -> bool:
        """There are slots and outlets left."""
        return self.slots > 0 and bool(self._outlets)

    def _allowed(self, outlet: Outlet) -> int:
        return min([self.slots, *(self._left[name] for name in self._names(outlet) if name in self._left)])

    def _names(self, outlet: Outlet) -> list[str]:
        names = [quota_of(outlet.org_id), pace_of(outlet), self._probes.get(outlet.id, "")]
        return [*names, tier_of(outlet)] if outlet.template else names

    def _spend(self, outlet: Outlet, count: int) -> None:
        self.slots -= count
        for name in self._names(outlet):
            if name in self._left:
                self._left[name] -= count


def _capacity(name: str, permit: Permit, outlets: Sequence[Outlet], now: Instant) -> int:
    if name.startswith("pace:"):
        pace = next((outlet.pace for outlet in outlets if pace_of(outlet) == name and outlet.pace), 1)
        return paced(permit, pace, now)
    left = remaining(permit, now)
    return 1_000_000 if left is None else left


def opens_at(outlets: Sequence[Outlet], permits: Mapping[str, Permit], now: Instant) -> Instant | None:
    """When the first of these outlets may send again; None when nobody knows, as with a quota of 0."""
    moments = [moment for outlet in outlets if (moment := _opens_at(outlet, permits, now)) is not None]
    return min(moments, default=None)


def _opens_at(outlet: Outlet, permits: Mapping[str, Permit], now: Instant) -> Instant | None:
    if outlet.gate is not None and gates.is_closed(outlet.gate, now):
        return outlet.gate.until
    latest = now
    for name in (quota_of(outlet.org_id), tier_of(outlet) if outlet.template else ""):
        permit = permits.get(name)
        if permit is None or remaining(permit, now) != 0:
            continue
        if permit.most == 0:
            return None
        latest = max(latest, resets_at(permit))
    pace = permits.get(pace_of(outlet))
    return Instant(max(latest, free_from(pace, now) - HORIZON)) if pace else latest

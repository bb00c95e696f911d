"""A cache of each org's policy, with the server's defaults filled in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import Any

import msgspec

from waypost.flow.time_zones import ready_for
from waypost.model.conversation import TurnTiming
from waypost.model.ids import OrgId
from waypost.model.policy import Budget, ConsentWords, Policy, QuietHours, RequestRate, Turns
from waypost.model.time import Instant, Span, as_seconds, days, minutes, seconds
from waypost.ports.accounts.policies import Policies
from waypost.ports.platform.clock import Clock
from waypost.rules.limits.price import Prices, prices_of
from waypost.rules.limits.quiet_hours import Hours, hours
from waypost.rules.sending.delivery import Unsettled
from waypost.rules.sending.retry import Backoff

STALE_AFTER: Span = seconds(2)
"""How old the cache may be: another process's change shows after at most this long."""


@dataclass(frozen=True, slots=True)
class EffectiveQuietHours:
    """Quiet hours, parsed."""

    set_to: QuietHours
    hours: Hours
    default: tzinfo


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectivePolicy:
    """An org's policy with the defaults filled in."""

    backoff: Backoff = field(default_factory=Backoff)
    unsure: Unsettled = Unsettled.REQUEUE
    request_rate: RequestRate | None = None
    default_region: str | None = None
    quiet: EffectiveQuietHours | None = None
    prices: Prices | None = None
    budget: Budget | None = None
    turns: TurnTiming = field(default_factory=TurnTiming)
    consent_words: ConsentWords | None = None
    history_retention: Span | None = None
    """How long the history store keeps messages; None means forever."""


def in_force(policy: Policy, defaults: EffectivePolicy) -> EffectivePolicy:
    backoff = defaults.backoff
    if policy.backoff_minutes:
        backoff = Backoff(tuple(map(minutes, policy.backoff_minutes)), backoff.jitter)
    return replace(
        defaults,
        backoff=backoff,
        unsure=Unsettled(policy.unsure) if policy.unsure else defaults.unsure,
        request_rate=policy.request_rate or defaults.request_rate,
        default_region=policy.default_region or defaults.default_region,
        quiet=_quiet(policy.quiet_hours) if policy.quiet_hours else None,
        prices=prices_of(policy.price_list) if policy.price_list else None,
        budget=policy.budget,
        consent_words=policy.consent_words,
        turns=turn_times(policy.turns, defaults.turns) if policy.turns else defaults.turns,
        history_retention=defaults.history_retention if policy.history_days is None else kept_for(policy.history_days),
    )


def kept_for(number: float) -> Span | None:
    """A number of days as a span; 0 means forever."""
    return days(number) if number else None


def turn_times(chosen: Turns, defaults: TurnTiming) -> TurnTiming:
    """The org's values, else the server's."""
    spans = {"quiet": chosen.quiet_sec, "max_wait": chosen.max_wait_sec, "lease": chosen.lease_sec}
    spans["limit"] = chosen.limit_sec
    changes: dict[str, Any] = {name: seconds(value) for name, value in spans.items() if value is not None}
    words = {"supersede": chosen.supersede, "after_failure": chosen.after_failure, "on_hand_back": chosen.on_hand_back}
    if chosen.retry_sec is not None:
        changes["retries"] = tuple(map(seconds, chosen.retry_sec))
    return msgspec.structs.replace(defaults, **changes, **{name: w for name, w in words.items() if w is not None})


def _quiet(set_to: QuietHours) -> EffectiveQuietHours:
    from waypost.rules.limits import calling_zones  # noqa: PLC0415  # takes 200 ms to import

    return EffectiveQuietHours(set_to, hours(set_to), calling_zones.zone(set_to.timezone) or UTC)


def turns_of(times: TurnTiming) -> Turns:
    """The same values in the form of a policy."""
    return Turns(
        quiet_sec=as_seconds(times.quiet),
        max_wait_sec=as_seconds(times.max_wait),
        lease_sec=as_seconds(times.lease),
        limit_sec=as_seconds(times.limit),
        retry_sec=tuple(map(as_seconds, times.retries)),
        supersede=times.supersede,
        after_failure=times.after_failure,
        on_hand_back=times.on_hand_back,
    )


class PolicyCache:
    def __init__(self, policies: Policies, clock: Clock, defaults: EffectivePolicy) -> None:
        self._policies = policies
        self._clock = clock
        self._defaults = defaults
        self._set: Mapping[OrgId, Policy] = {}
        self._by_org: dict[OrgId, EffectivePolicy] = {}
        self._read_at: Instant | None = None
        self._version = 0
        self._reading = asyncio.Lock()

    def invalidate(self) -> None:
        """Makes the next lookup read the Ledger again."""
        self._version += 1
        self._read_at = None

    async def of(self, org: OrgId) -> EffectivePolicy:
        await self.refresh()
        return self.known(org)

    def known(self, org: OrgId) -> EffectivePolicy:
        """From memory only."""
        return self._by_org.get(org, self._defaults)

    def leases(self) -> list[Span]:
        """The turn leases of the orgs that have a policy."""
        return [policy.turns.lease for policy in self._by_org.values()]

    async def all(self) -> Mapping[OrgId, EffectivePolicy]:
        """The policies of the orgs that have set one."""
        await self.refresh()
        return self._by_org

    def _is_fresh(self) -> bool:
        return self._read_at is not None and 0 <= self._clock.now() - self._read_at <= STALE_AFTER

    async def refresh(self) -> None:
        """One read at a time; an invalidation during a read causes another one."""
        while not self._is_fresh():
            async with self._reading:
                if self._is_fresh():
                    return
                now, version = self._clock.now(), self._version
                found = await self._policies.all()
                await ready_for(*found.values())
                self._take(found)
                if self._version == version:
                    self._read_at = now
                    return

    def _take(self, found: Mapping[OrgId, Policy]) -> None:
        before, known = self._set, self._by_org
        self._by_org = {
            org: known[org] if before.get(org) is policy else in_force(policy, self._defaults)
            for org, policy in found.items()
        }
        self._set = found

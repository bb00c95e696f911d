"""Changes an org's policy and applies its quiet hours and request rate."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from waypost.flow.accounts.budgets import check_one
from waypost.flow.time_zones import ready_for
from waypost.flow.world import World
from waypost.model.audit import SYSTEM
from waypost.model.ids import OrgId
from waypost.model.message import ClaimedMessage
from waypost.model.policy import Policy
from waypost.model.time import Instant
from waypost.ports.platform.hints import ACCOUNTS, OUTBOX
from waypost.rules.accounts import policy as rule
from waypost.rules.accounts.policy import InvalidPolicy
from waypost.rules.limits import quiet_hours, request_rate
from waypost.rules.limits.request_rate import RateLimited
from waypost.rules.sending.delivery import Defer

ATTEMPTS = 5
_NAMED = re.compile(r"field `(.*)`$", re.DOTALL)


class PolicyChanged(msgspec.Struct, frozen=True):
    """The policy before and after a change."""

    before: Policy
    after: Policy


class PolicyContested(msgspec.Struct, frozen=True):
    """Concurrent changes kept interfering."""


PolicyResult: TypeAlias = PolicyChanged | InvalidPolicy | PolicyContested
PolicyEdit: TypeAlias = Callable[[Policy], Policy | InvalidPolicy]


async def replace_policy(org: OrgId, wanted: Policy, world: World, actor: str = SYSTEM) -> PolicyResult:
    return await change_policy(org, lambda _: wanted, world, actor)


async def merge_policy(org: OrgId, patch: dict[str, Any], world: World, actor: str = SYSTEM) -> PolicyResult:
    return await change_policy(org, lambda before: converted(rule.merged(before, patch)), world, actor)


async def change_policy(org: OrgId, change: PolicyEdit, world: World, actor: str = SYSTEM) -> PolicyResult:
    """Retries if the policy changed meanwhile, so that no concurrent change is lost."""
    for _ in range(ATTEMPTS):
        before = await world.ledger.policies.get(org)
        after = change(before)
        if isinstance(after, InvalidPolicy):
            return after
        await ready_for(after)
        if (invalid := rule.check(after, world.tuning.defaults.turns)) is not None:
            return invalid
        if await world.ledger.policies.put(org, after, instead_of=before, actor=actor):
            world.policies.invalidate()
            world.hints.give([ACCOUNTS, OUTBOX])
            await check_one(org, world)
            return PolicyChanged(before, after)
    return PolicyContested()


def converted(given: dict[str, Any]) -> Policy | InvalidPolicy:
    try:
        return msgspec.convert(given, Policy)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$.")
        named = _NAMED.search(what)
        return InvalidPolicy(".".join(filter(None, (path.rstrip("`"), named and named[1]))), what)


def quiet_hours_deferral(message: ClaimedMessage, world: World) -> Defer | None:
    """Defers a message during the org's quiet hours, in the recipient's time zones."""
    quiet = world.policies.known(message.org_id).quiet
    if quiet is None or quiet_hours.is_exempt(quiet.set_to, message.priority):
        return None
    from waypost.rules.limits.calling_zones import zones_of  # noqa: PLC0415  # takes 200 ms to import

    until = quiet_hours.quiet_until(quiet.hours, zones_of(message.recipient), quiet.default, world.clock.now())
    if until is None:
        return None
    at = min(until, message.expires_at or until)  # so that it expires on time, not in the morning
    return Defer(Instant(at), "quiet", f"quiet hours from {quiet.set_to.start} to {quiet.set_to.end}")


async def take_request(org: OrgId, world: World) -> RateLimited | None:
    """Counts one request of the org; None if it may be served.

    Each process counts on its own against the full rate: the limit protects the process.
    """
    allowed = (await world.policies.of(org)).request_rate
    if allowed is None:
        return None
    now = world.clock.now()
    drawn = request_rate.draw(world.buckets.get(org, now), allowed, now)
    if isinstance(drawn, RateLimited):
        return drawn
    world.buckets[org] = drawn
    return None


async def policy(org: OrgId, world: World) -> Policy:
    """What the org has set, without the server's defaults."""
    return await world.ledger.policies.get(org)

"""What an org sets for itself, and the steps' questions about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from waypost.flow.budgets import check_one
from waypost.flow.time_zones import ready_for
from waypost.flow.world import World
from waypost.model.audit import SYSTEM
from waypost.model.ids import OrgId
from waypost.model.message import Claimed
from waypost.model.policy import Policy
from waypost.model.time import Instant
from waypost.ports.hints import ACCOUNTS, OUTBOX
from waypost.rules import policy as rule
from waypost.rules import quiet, rate
from waypost.rules.delivery import Defer
from waypost.rules.policy import Invalid
from waypost.rules.rate import TooSoon

ATTEMPTS = 5
_NAMED = re.compile(r"field `(.*)`$", re.DOTALL)


class Changed(msgspec.Struct, frozen=True):
    """Both sides of a change, for whoever records it."""

    before: Policy
    after: Policy


class Contested(msgspec.Struct, frozen=True):
    """Others kept changing it at the same time."""


Answer: TypeAlias = Changed | Invalid | Contested
Change: TypeAlias = Callable[[Policy], Policy | Invalid]


async def replace_policy(org: OrgId, wanted: Policy, world: World, actor: str = SYSTEM) -> Answer:
    return await change_policy(org, lambda _: wanted, world, actor)


async def merge_policy(org: OrgId, patch: dict[str, Any], world: World, actor: str = SYSTEM) -> Answer:
    return await change_policy(org, lambda before: converted(rule.merged(before, patch)), world, actor)


async def change_policy(org: OrgId, change: Change, world: World, actor: str = SYSTEM) -> Answer:
    """Never over a change that somebody else made meanwhile."""
    for _ in range(ATTEMPTS):
        before = await world.ledger.policies.get(org)
        after = change(before)
        if isinstance(after, Invalid):
            return after
        await ready_for(after)
        if (invalid := rule.check(after, world.tuning.defaults.turns)) is not None:
            return invalid
        if await world.ledger.policies.put(org, after, instead_of=before, actor=actor):
            world.policies.forget()
            world.hints.give([ACCOUNTS, OUTBOX])
            await check_one(org, world)
            return Changed(before, after)
    return Contested()


def converted(given: dict[str, Any]) -> Policy | Invalid:
    try:
        return msgspec.convert(given, Policy)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$.")
        named = _NAMED.search(what)
        return Invalid(".".join(filter(None, (path.rstrip("`"), named and named[1]))), what)


def keep_quiet(message: Claimed, world: World) -> Defer | None:
    """The org's quiet hours, by the clocks of those whom the message would reach."""
    asked = world.policies.known(message.org_id).quiet
    if asked is None or quiet.is_exempt(asked.set_to, message.priority):
        return None
    from waypost.rules.zones import zones_of  # noqa: PLC0415  # 200 ms that nobody without quiet hours should pay

    until = quiet.quiet_until(asked.hours, zones_of(message.recipient), asked.default, world.clock.now())
    if until is None:
        return None
    at = min(until, message.expires_at or until)  # so that it ends at its time, not in the morning
    return Defer(Instant(at), "quiet", f"quiet hours from {asked.set_to.start} to {asked.set_to.end}")


async def take_request(org: OrgId, world: World) -> TooSoon | None:
    """Count one request of the org; None when it may be served.

    Each process counts for itself, with the whole rate: it protects the process, and needs no word from the others.
    """
    allowed = (await world.policies.of(org)).request_rate
    if allowed is None:
        return None
    now = world.clock.now()
    drawn = rate.draw(world.buckets.get(org, now), allowed, now)
    if isinstance(drawn, TooSoon):
        return drawn
    world.buckets[org] = drawn
    return None

"""Closes an org's gate when its budget is spent, and opens it when there is room again.

Messages in flight count as delivered, at the highest price for their country, since their category is only known on
delivery; at most 100,000 messages of each state are counted. The check runs every few seconds, so messages sent
between two checks may exceed the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from waypost.flow.policy_cache import EffectivePolicy
from waypost.flow.world import World
from waypost.model.ids import OrgId
from waypost.model.money import By, Spend
from waypost.model.time import Instant, Span, seconds
from waypost.ports.platform.clock import Clock
from waypost.ports.platform.hints import OUTBOX
from waypost.rules.limits import budget as rule
from waypost.rules.limits.price import Prices

CHECK_EVERY: Span = seconds(5)
SLICE = 2000
"""Pricing this many recipients takes about a millisecond."""


async def check_budgets(world: World) -> None:
    """Checks every org that has a budget or is held by one."""
    policies = await world.policies.all()
    limited = {org: policy for org, policy in policies.items() if policy.budget and policy.prices}
    capped = set(await world.ledger.money.capped())
    for org in sorted(limited.keys() | capped):
        await check_budget(org, limited.get(org), org in capped, world)


async def check_one(org: OrgId, world: World) -> None:
    """Checks one org, right after its policy changed."""
    policy = await world.policies.of(org)
    limited = policy if policy.budget and policy.prices else None
    capped = org in await world.ledger.money.capped()
    if limited or capped:
        await check_budget(org, limited, capped, world)


async def check_budget(org: OrgId, policy: EffectivePolicy | None, capped: bool, world: World) -> None:
    reason = await _reached(org, policy, world) if policy else None
    if reason is not None and not capped:
        await world.ledger.money.cap(org, reason, world.clock.now())
    if reason is None and capped and await world.ledger.money.lift_cap(org):
        world.hints.give([OUTBOX])


async def _reached(org: OrgId, policy: EffectivePolicy, world: World) -> str | None:
    budget, prices, now = policy.budget, policy.prices, world.clock.now()
    if budget is None or prices is None:
        return None
    booked = await world.ledger.money.booked(org, rule.first_day(budget, now), prices.currency)
    in_flight = await world.ledger.money.on_the_way(org, Instant(now - rule.ON_THE_WAY))
    expected = await expected_cost(in_flight, prices, world.clock)
    return rule.reason(budget, prices.currency, booked, now) if rule.is_reached(budget, booked, expected) else None


async def expected_cost(in_flight: Sequence[str], prices: Prices, clock: Clock) -> int:
    """In slices, so that other tasks run in between: there may be 200,000 recipients."""
    total = 0
    for start in range(0, len(in_flight), SLICE):
        total += sum(map(prices.dearest, in_flight[start : start + SLICE]))
        await clock.sleep(Span(0))
    return total


async def spend(org: OrgId, first: date, last: date, by: By, world: World) -> Sequence[Spend]:
    """What the org's messages cost from `first` to `last`, both included."""
    return await world.ledger.money.spend(org, rule.as_day(first), rule.as_day(last), by)

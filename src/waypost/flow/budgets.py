"""Whether orgs may go on spending: their gate closes when the budget is reached, and opens when there is room again.

What is on the way counts as if it arrived, at the dearest price for its country, since its category is only known
when it does; no more than 100,000 messages of each state are counted. The check comes every few seconds, so that a
cap may be passed by what was sent between two of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from waypost.flow.policy_book import InForce
from waypost.flow.world import World
from waypost.model.ids import OrgId
from waypost.model.time import Instant, Span, seconds
from waypost.ports.clock import Clock
from waypost.ports.hints import OUTBOX
from waypost.rules import budget as rule
from waypost.rules.price import Prices

CHECK_EVERY: Span = seconds(5)
SLICE = 2000
"""Recipients whose price takes about a millisecond."""


async def check_budgets(world: World) -> None:
    """Of every org that has one, or had one."""
    policies = await world.policies.all()
    limited = {org: policy for org, policy in policies.items() if policy.budget and policy.prices}
    capped = set(await world.ledger.money.capped())
    for org in sorted(limited.keys() | capped):
        await check_budget(org, limited.get(org), org in capped, world)


async def check_one(org: OrgId, world: World) -> None:
    """At once, when its policy was changed."""
    policy = await world.policies.of(org)
    limited = policy if policy.budget and policy.prices else None
    capped = org in await world.ledger.money.capped()
    if limited or capped:
        await check_budget(org, limited, capped, world)


async def check_budget(org: OrgId, policy: InForce | None, capped: bool, world: World) -> None:
    reason = await _reached(org, policy, world) if policy else None
    if reason is not None and not capped:
        await world.ledger.money.cap(org, reason, world.clock.now())
    if reason is None and capped and await world.ledger.money.lift_cap(org):
        world.hints.give([OUTBOX])


async def _reached(org: OrgId, policy: InForce, world: World) -> str | None:
    budget, prices, now = policy.budget, policy.prices, world.clock.now()
    if budget is None or prices is None:
        return None
    booked = await world.ledger.money.booked(org, rule.first_day(budget, now), prices.currency)
    on_the_way = await world.ledger.money.on_the_way(org, Instant(now - rule.ON_THE_WAY))
    expected = await expected_cost(on_the_way, prices, world.clock)
    return rule.reason(budget, prices.currency, booked, now) if rule.is_reached(budget, booked, expected) else None


async def expected_cost(on_the_way: Sequence[str], prices: Prices, clock: Clock) -> int:
    """In slices: there may be 200,000 recipients, and everybody else would wait for the last of them."""
    total = 0
    for start in range(0, len(on_the_way), SLICE):
        total += sum(map(prices.dearest, on_the_way[start : start + SLICE]))
        await clock.sleep(Span(0))
    return total

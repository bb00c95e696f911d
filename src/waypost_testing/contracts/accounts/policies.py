"""The contract of policies: read as set, replaced whole, never overwriting another user's change."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import msgspec

from waypost.model.ids import MessageId
from waypost.model.policy import Budget, Policy, Price, PriceList, QuietHours, RequestRate
from waypost.model.time import days
from waypost.ports.ledger import Ledger
from waypost.rules.sending.delivery import Defer
from waypost_testing.contracts.examples import (
    ORG,
    OTHER_ORG,
    Ledgers,
    claim,
    claim_one,
    delivery,
    later,
    settle,
    submit,
)

WHOLE = Policy(
    backoff_minutes=(0.5, 2.0),
    unsure="park",
    quiet_hours=QuietHours(start="21:00", end="08:00", timezone="Europe/Berlin", exempt_priority=9),
    request_rate=RequestRate(per_second=2.5, burst=10),
    price_list=PriceList(currency="EUR", prices=(Price(country="49", category="marketing", amount=Decimal("0.1131")),)),
    budget=Budget(amount=Decimal("12.50"), period="day"),
    default_region="DE",
)
MORNING = later(days(36_500))
"""Later than the Ledger's own clock, which may be the real one."""


async def put_off(ledger: Ledger) -> MessageId:
    """A message that waits for the end of the quiet hours."""
    message = await submit(ledger)
    await settle(ledger, await claim_one(ledger), Defer(MORNING, "quiet", "quiet hours from 21:00 to 08:00"))
    return message.id


class PoliciesContract:
    async def test_an_org_that_set_nothing_has_an_empty_policy(self, ledger: Ledger) -> None:
        assert await ledger.policies.get(ORG) == Policy()
        assert await ledger.policies.all() == {}

    async def test_a_policy_is_read_as_it_was_set_and_replaced_whole(self, ledger: Ledger) -> None:
        assert await ledger.policies.put(ORG, WHOLE)
        assert await ledger.policies.get(ORG) == WHOLE
        assert await ledger.policies.put(ORG, Policy(unsure="requeue"))
        assert await ledger.policies.get(ORG) == Policy(unsure="requeue")

    async def test_each_org_has_its_own(self, ledgers: Ledgers) -> None:
        first, second = ledgers
        await first.policies.put(ORG, WHOLE)
        await second.policies.put(OTHER_ORG, Policy(default_region="FR"))
        assert await second.policies.all() == {ORG: WHOLE, OTHER_ORG: Policy(default_region="FR")}

    async def test_a_change_is_not_made_over_another_that_it_did_not_see(self, ledger: Ledger) -> None:
        assert await ledger.policies.put(ORG, WHOLE, instead_of=Policy())
        assert not await ledger.policies.put(ORG, Policy(unsure="park"), instead_of=Policy())
        assert await ledger.policies.get(ORG) == WHOLE

    async def test_of_two_changes_at_once_one_is_made(self, ledgers: Ledgers) -> None:
        wanted = [Policy(default_region=region) for region in ("DE", "FR")]
        both = zip(ledgers, wanted, strict=True)
        made = await asyncio.gather(*(each.policies.put(ORG, one, instead_of=Policy()) for each, one in both))
        assert sorted(made) == [False, True]
        assert await ledgers[0].policies.get(ORG) == wanted[made.index(True)]

    async def test_other_quiet_hours_make_due_what_the_former_ones_put_off(self, ledger: Ledger) -> None:
        await ledger.policies.put(ORG, WHOLE)
        for hours in (QuietHours(start="22:00", end="08:00"), None):
            message = await put_off(ledger)
            before = await ledger.policies.get(ORG)
            await ledger.policies.put(ORG, msgspec.structs.replace(before, quiet_hours=hours), instead_of=before)
            stands = await delivery(ledger, message)
            assert stands.due_at is not None
            assert stands.due_at < MORNING
            assert stands.deferred_by is None
            assert [each.id for each in await claim(ledger, now=MORNING)] == [message]

    async def test_another_change_leaves_it_asleep(self, ledger: Ledger) -> None:
        await ledger.policies.put(ORG, WHOLE)
        message = await put_off(ledger)
        await ledger.policies.put(ORG, msgspec.structs.replace(WHOLE, unsure="requeue"), instead_of=WHOLE)
        await ledger.policies.put(ORG, msgspec.structs.replace(WHOLE, default_region="FR"))
        stands = await delivery(ledger, message)
        assert (stands.due_at, stands.deferred_by) == (MORNING, "quiet")

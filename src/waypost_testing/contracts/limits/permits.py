"""The contract of permits: all processes together never exceed a quota, a pace or a tier."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from waypost.model.ids import MessageId
from waypost.model.time import Instant, days, hours, minutes, seconds
from waypost.model.webhook import WebhookBatch
from waypost.ports.ledger import Ledger
from waypost.rules.limits.send_pace import HORIZON, interval
from waypost.rules.sending.delivery import Accept, Defer, DeliveryVerdict, Expire, StandBack
from waypost_testing.contracts.examples import (
    NUMBER,
    ORG,
    OTHER_NUMBER,
    OTHER_ORG,
    T0,
    W1,
    W2,
    Ledgers,
    a_customer,
    a_wamid,
    accept,
    an_inbound,
    claim,
    claim_one,
    give_up,
    later,
    settle,
    submit,
    try_again,
    unsure,
)
from waypost_testing.contracts.limits.gates import a_closing, batch, connect


async def submit_many(ledger: Ledger, count: int, **draft: Any) -> list[MessageId]:
    """Each to its own customer, so that no recipient's pace interferes."""
    drafts = [{"recipient": a_customer()} | draft for _ in range(count)]
    return [message.id for message in await asyncio.gather(*(submit(ledger, **each) for each in drafts))]


async def used(ledger: Ledger) -> int:
    return (await ledger.quotas.get(ORG)).used


GIVEN_BACK: list[Callable[[], DeliveryVerdict]] = [
    lambda: try_again(later(hours(1))),
    lambda: try_again(later(hours(1)), counts=False),
    give_up,
    Expire,
    lambda: Defer(later(hours(1)), "pacing", "not now"),
    lambda: StandBack(a_closing(), "slow down", None),
]
SPENT: list[Callable[[], DeliveryVerdict]] = [lambda: Accept(a_wamid(), "{}"), unsure]


class QuotaContract:
    async def test_concurrent_claims_never_take_more_than_the_limit(self, ledgers: Ledgers) -> None:
        await connect(ledgers[0], quota=10)
        await submit_many(ledgers[0], 40)
        taken = await asyncio.gather(*(claim(ledgers[n % 2], slots=7) for n in range(10)))
        taken += [await claim(ledgers[0])]
        assert sum(map(len, taken)) == 10
        assert await used(ledgers[1]) == 10

    @pytest.mark.parametrize("verdict", GIVEN_BACK)
    async def test_what_provably_did_not_happen_is_given_back(
        self, verdict: Callable[[], DeliveryVerdict], ledger: Ledger
    ) -> None:
        await connect(ledger, quota=10)
        await submit(ledger)
        claimed = await claim_one(ledger)
        assert await used(ledger) == 1
        await settle(ledger, claimed, verdict())
        assert await used(ledger) == 0
        await settle(ledger, claimed, verdict())
        assert await used(ledger) == 0

    @pytest.mark.parametrize("verdict", SPENT)
    async def test_what_happened_or_may_have_is_not(
        self, verdict: Callable[[], DeliveryVerdict], ledger: Ledger
    ) -> None:
        await connect(ledger, quota=10)
        await submit(ledger)
        await settle(ledger, await claim_one(ledger), verdict())
        assert await used(ledger) == 1

    async def test_what_is_handed_back_is_given_back(self, ledger: Ledger) -> None:
        await connect(ledger, quota=10)
        await submit_many(ledger, 3)
        kept, *_ = await claim(ledger)
        assert len(await ledger.outbox.hand_back(W1, [kept.id], T0)) == 2
        assert await used(ledger) == 1

    async def test_claims_and_refunds_at_the_same_time_lose_nothing(self, ledgers: Ledgers) -> None:
        await connect(ledgers[0], quota=20)
        await submit_many(ledgers[0], 60)
        held, not_now = await claim(ledgers[0], slots=20), Defer(later(days(9)), "pacing", "not now")
        refunding = asyncio.gather(*(settle(ledgers[n % 2], each, not_now) for n, each in enumerate(held)))
        claiming = asyncio.gather(*(claim(ledgers[n % 2], slots=5, owner=W2) for n in range(6)))
        taken = await claiming
        await refunding
        taken.append(await claim(ledgers[0]))
        assert sum(map(len, taken)) == await used(ledgers[0]) == 20

    async def test_claims_refunds_and_customers_meet_without_a_circle(self, ledgers: Ledgers) -> None:
        """A worker that waits for a permit holds no recipient that the permit's holder waits for."""
        await connect(ledgers[0], quota=1000)
        customers = [a_customer() for _ in range(10)]
        for second in range(20):
            now = later(seconds(second))
            await asyncio.gather(*(submit(ledgers[0], recipient=customer) for customer in customers))
            held = await claim(ledgers[0], slots=5, now=now)
            wrote = [an_inbound(customer, T0, NUMBER) for customer in customers]
            refunds = [settle(ledgers[0], each, give_up()) for each in held]
            under_way = asyncio.gather(
                *refunds, *(ledgers[0].journal.apply_webhook(WebhookBatch([], [], [one]), T0) for one in wrote)
            )
            rest = await claim(ledgers[1], owner=W2, now=now)
            await under_way
            assert len(rest) == 5

    async def test_an_earlier_window_gives_nothing_back_into_this_one(self, ledger: Ledger) -> None:
        await connect(ledger, quota=2)
        await submit_many(ledger, 4)
        old = await claim(ledger)
        new = await claim(ledger, now=later(days(1)))
        assert (len(old), len(new)) == (2, 2)
        for claimed in old:
            await settle(ledger, claimed, give_up(), later(days(1)))
        assert await used(ledger) == 2
        await settle(ledger, new[0], give_up(), later(days(1)))
        assert await used(ledger) == 1

    async def test_it_begins_again_24_hours_after_its_first_message(self, ledger: Ledger) -> None:
        await connect(ledger, quota=2)
        await submit_many(ledger, 3)
        assert len(await claim(ledger, slots=1)) == 1
        assert len(await claim(ledger, now=later(hours(23)))) == 1
        stopped = await batch(ledger, now=later(hours(23)))
        assert (stopped.claimed, stopped.more, stopped.opens_at) == ([], False, later(days(1)))
        assert await claim(ledger, now=Instant(T0 + days(1) - 1)) == []
        assert len(await claim(ledger, now=later(days(1)))) == 1

    async def test_a_raised_limit_frees_at_once_and_a_lowered_one_stops(self, ledger: Ledger) -> None:
        await connect(ledger, quota=1)
        await submit_many(ledger, 5)
        await claim(ledger)
        raised = await ledger.quotas.set_limit(ORG, 3)
        assert (raised.most, raised.used) == (3, 1)
        assert len(await claim(ledger)) == 2
        await ledger.quotas.set_limit(ORG, 2)
        assert await claim(ledger) == []

    async def test_a_limit_of_nothing_lets_nothing_through_and_wakes_nobody(self, ledger: Ledger) -> None:
        await connect(ledger, quota=0)
        await submit(ledger)
        stopped = await batch(ledger)
        assert (stopped.claimed, stopped.more, stopped.opens_at) == ([], False, None)

    async def test_an_org_without_a_limit_has_none(self, ledger: Ledger) -> None:
        await connect(ledger)
        await submit_many(ledger, 3)
        assert len(await claim(ledger)) == 3
        assert (await ledger.quotas.get(ORG)).most is None

    async def test_one_org_s_quota_is_not_another_s(self, ledger: Ledger) -> None:
        await connect(ledger, quota=1)
        await connect(ledger, OTHER_NUMBER, OTHER_ORG, quota=1)
        await submit_many(ledger, 3)
        await submit_many(ledger, 3, org_id=OTHER_ORG, sender=OTHER_NUMBER)
        assert sorted(claimed.org_id for claimed in await claim(ledger)) == [ORG, OTHER_ORG]


PACE = 20


class PaceContract:
    async def test_two_processes_together_never_exceed_the_pace(self, ledgers: Ledgers) -> None:
        await connect(ledgers[0], pace=PACE)
        await submit_many(ledgers[0], 3 * PACE)
        starts: list[Instant] = []
        for tick in range(0, int(seconds(2)), int(HORIZON) // 2):
            now = Instant(T0 + tick)
            taken = await asyncio.gather(*(claim(ledger, slots=5, now=now) for ledger in ledgers))
            moments = [claimed.start_at for some in taken for claimed in some]
            assert all(now <= moment <= now + HORIZON for moment in moments)
            starts += moments
        starts.sort()
        assert all(b - a >= interval(PACE) for a, b in itertools.pairwise(starts))
        assert len(starts) in (2 * PACE, 2 * PACE + 1, 2 * PACE + 2)

    async def test_it_opens_again_exactly_when_it_says(self, ledger: Ledger) -> None:
        await connect(ledger, pace=1)
        await submit_many(ledger, 2)
        first = await batch(ledger)
        assert ([c.start_at for c in first.claimed], first.more) == ([T0], False)
        assert first.opens_at == T0 + seconds(1) - HORIZON
        assert await claim(ledger, now=Instant(first.opens_at - 1)) == []
        second = await claim_one(ledger, now=first.opens_at)
        assert second.start_at == later(seconds(1))

    async def test_a_number_s_templates_and_freeform_messages_share_its_pace(self, ledger: Ledger) -> None:
        await connect(ledger, pace=1)
        await submit_many(ledger, 3)
        await submit_many(ledger, 3, template="hello")
        assert len(await claim(ledger)) == 1

    async def test_another_number_has_its_own(self, ledger: Ledger) -> None:
        await connect(ledger, pace=1)
        await connect(ledger, OTHER_NUMBER, pace=1)
        await submit_many(ledger, 3)
        await submit_many(ledger, 3, sender=OTHER_NUMBER)
        assert {claimed.sender for claimed in await claim(ledger)} == {NUMBER, OTHER_NUMBER}


class FairnessContract:
    async def test_one_message_does_not_wait_behind_five_hundred(self, ledger: Ledger) -> None:
        await submit_many(ledger, 500, template="newsletter")
        lonely = await submit(ledger)
        assert lonely.id in {claimed.id for claimed in await claim(ledger, slots=20)}

    async def test_what_one_leaves_over_the_others_get(self, ledger: Ledger) -> None:
        await submit_many(ledger, 30, template="newsletter")
        await submit(ledger)
        assert len(await claim(ledger, slots=20)) == 20

    async def test_very_many_outlets_are_all_reached(self, ledger: Ledger) -> None:
        for n in range(70):
            await submit(ledger, template=f"t-{n}", recipient=a_customer())
        reached: list[str | None] = []
        after = 0
        for _ in range(10):
            some = await batch(ledger, slots=1000, after=after)
            reached += [claimed.template for claimed in some.claimed]
            after = some.after
            assert some.more is (after > 0)
            if not after:
                break
        assert sorted(map(str, reached)) == sorted(f"t-{n}" for n in range(70))

    async def test_with_fewer_slots_than_outlets_everyone_has_a_turn(self, ledger: Ledger) -> None:
        for n in range(9):
            await submit_many(ledger, 20, template=f"t-{n}")
        served: list[str | None] = []
        after = 0
        for _ in range(6):
            some = await batch(ledger, slots=3, after=after)
            assert some.more
            served += [claimed.template for claimed in some.claimed]
            after = some.after
        assert sorted(map(str, served)) == sorted(f"t-{n}" for n in range(9) for _ in range(2))

    async def test_a_claim_begins_where_the_last_one_stopped_and_goes_round(self, ledger: Ledger) -> None:
        ids = [(await submit(ledger, template=f"t-{n}", recipient=a_customer())).id for n in range(4)]
        some = await batch(ledger, slots=2)
        assert ([claimed.id for claimed in some.claimed], some.more) == (ids[:2], True)
        early = await submit(ledger, template="t-0", recipient=a_customer())
        rest = await batch(ledger, slots=100, after=some.after)
        assert [claimed.id for claimed in rest.claimed] == [*ids[2:], early.id]
        assert (rest.more, rest.after) == (False, 0)

    async def test_within_an_outlet_the_oldest_goes_first(self, ledger: Ledger) -> None:
        ids = await submit_many(ledger, 10)
        others = await submit_many(ledger, 10, template="hello")
        taken = [claimed.id for claimed in await claim(ledger, slots=6)]
        assert [i for i in taken if i in ids] == sorted(ids)[:3]
        assert [i for i in taken if i in others] == sorted(others)[:3]


class TierContract:
    """How many new customers a day a number's templates may reach."""

    async def send(self, ledger: Ledger, customer: str, now: Instant = T0, template: str | None = "hello") -> bool:
        """Whether it was sent."""
        await submit(ledger, recipient=customer, template=template, now=now)
        claimed = await claim(ledger, now=now)
        for each in claimed:
            await accept(ledger, each, now=now)
        return bool(claimed)

    async def test_only_new_customers_count(self, ledger: Ledger) -> None:
        await connect(ledger, tier=3)
        first, second, third = a_customer(), a_customer(), a_customer()
        for n, customer in enumerate([first, first, second, first, second, third]):
            assert await self.send(ledger, customer, later(seconds(n)))
        stopped = a_customer()
        assert not await self.send(ledger, stopped, later(minutes(1)))
        assert (await batch(ledger, now=later(minutes(1)))).opens_at == later(days(1))
        assert len(await claim(ledger, now=later(days(1)))) == 1

    async def test_whoever_wrote_within_24_hours_does_not_count(self, ledger: Ledger) -> None:
        await connect(ledger, tier=1)
        for _ in range(3):
            customer = a_customer()
            await ledger.journal.apply_webhook(WebhookBatch([], [], [an_inbound(customer, T0, NUMBER)]), T0)
            assert await self.send(ledger, customer)
        assert await self.send(ledger, a_customer())
        assert not await self.send(ledger, a_customer())

    async def test_freeform_messages_do_not_count(self, ledger: Ledger) -> None:
        await connect(ledger, tier=1)
        for _ in range(3):
            assert await self.send(ledger, a_customer(), template=None)

    async def test_whom_it_counted_is_known_for_the_whole_day(self, ledger: Ledger) -> None:
        await connect(ledger, tier=2)
        customer, long_ago = a_customer(), Instant(T0 - days(3))
        await ledger.journal.apply_webhook(WebhookBatch([], [], [an_inbound(customer, long_ago, NUMBER)]), T0)
        assert await self.send(ledger, customer)
        assert await ledger.windows.expire(later(hours(23)), 100) == 0
        assert await self.send(ledger, customer, later(hours(23)))
        assert await self.send(ledger, a_customer(), later(hours(23)))
        assert await ledger.windows.expire(later(days(3)), 100) == 2

    async def test_a_customer_who_never_wrote_is_forgotten_when_nothing_of_them_matters(self, ledger: Ledger) -> None:
        await connect(ledger, tier=2)
        customer = a_customer()
        assert await self.send(ledger, customer)
        assert await ledger.windows.expire(later(hours(23)), 100) == 0
        assert await ledger.windows.expire(later(days(3)), 100) == 1
        assert await ledger.windows.of([NUMBER], customer) == []

    async def test_concurrent_claims_never_reach_more(self, ledgers: Ledgers) -> None:
        await connect(ledgers[0], tier=5)
        await submit_many(ledgers[0], 10, template="hello")
        await submit_many(ledgers[0], 10, template="goodbye")
        taken = await asyncio.gather(*(claim(ledgers[n % 2], slots=4) for n in range(8)))
        assert len({claimed.recipient for some in taken for claimed in some}) == 5


class PermitsContract(QuotaContract, PaceContract, FairnessContract, TierContract):
    pass

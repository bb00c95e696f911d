"""The contract of costs: booked once per wamid, with the status that reports it, and summed up correctly."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from waypost.model.ids import OrgId, Wamid
from waypost.model.message import ClaimedMessage, Status
from waypost.model.money import By, Charge, Spend
from waypost.model.time import Instant, days, minutes, seconds
from waypost.model.webhook import StatusKind, StatusUpdate
from waypost.ports.ledger import Ledger
from waypost_testing.contracts.examples import (
    CUSTOMER,
    NUMBER,
    ORG,
    OTHER_ORG,
    T0,
    Ledgers,
    a_claim,
    a_number,
    a_report,
    a_wamid,
    accept,
    an_org,
    claim,
    claim_one,
    later,
    status,
    submit,
    take,
)

DAY = T0 // days(1)


def a_charge(amount: int | None = 113_100, category: str = "marketing") -> Charge:
    currency = None if amount is None else "EUR"
    return Charge(model="PMP", type="regular", category=category, country="49", amount_micros=amount, currency=currency)


def charged(
    wamid: Wamid, claimed: ClaimedMessage | None, kind: str = "delivered", at: Instant = T0, **charge: object
) -> StatusUpdate:
    return a_report(StatusKind(kind), wamid, echo=claimed, at=at, charge=a_charge(**charge))  # type: ignore[arg-type]


async def spend(ledger: Ledger, by: By = "day", org: OrgId = ORG) -> list[Spend]:
    return list(await ledger.money.spend(org, DAY - 400, DAY + 400, by))


def booked(key: str | None, messages: int, amount: int, unpriced: int = 0, currency: str | None = "EUR") -> Spend:
    return Spend(key=key, currency=currency, messages=messages, unpriced=unpriced, amount_micros=amount)


class MoneyContract:
    @pytest.fixture(autouse=True)
    async def number(self, ledger: Ledger) -> None:
        await ledger.accounts.create_org(an_org(ORG), None)
        await ledger.accounts.connect(a_number(NUMBER, pace=1000))

    async def sent(self, ledger: Ledger, **draft: Any) -> tuple[ClaimedMessage, Wamid]:
        await submit(ledger, **draft)
        claimed, wamid = await claim_one(ledger, now=later(seconds(30))), a_wamid()
        await accept(ledger, claimed, wamid)
        return claimed, wamid

    @pytest.mark.parametrize("settled", [True, False], ids=["the short way", "the long way"])
    async def test_a_status_books_its_cost_with_itself(self, ledger: Ledger, settled: bool) -> None:
        message = await submit(ledger, template="order", dossier_id=7)
        claimed, wamid = await claim_one(ledger), a_wamid()
        if settled:
            await accept(ledger, claimed, wamid)
        await take(ledger, charged(wamid, claimed))
        assert await status(ledger, message.id) is Status.DELIVERED
        assert await spend(ledger) == [booked(str(DAY), 1, 113_100)]
        assert await spend(ledger, "template") == [booked("order", 1, 113_100)]
        assert await spend(ledger, "category") == [booked("marketing", 1, 113_100)]
        assert await spend(ledger, "dossier") == [booked("7", 1, 113_100)]

    async def test_a_wamid_is_booked_once_whoever_tells_of_it(self, ledgers: Ledgers) -> None:
        claimed, wamid = await self.sent(ledgers[0])
        updates = [charged(wamid, claimed, kind) for kind in ("delivered", "read", "delivered", "read")]
        await asyncio.gather(*(take(ledgers[n % 2], report) for n, report in enumerate(updates)))
        await take(ledgers[0], *updates)
        assert await spend(ledgers[1]) == [booked(str(DAY), 1, 113_100)]

    async def test_what_has_no_charge_books_nothing(self, ledger: Ledger) -> None:
        claimed, wamid = await self.sent(ledger)
        await take(ledger, a_report("sent", wamid, echo=claimed), a_report("delivered", wamid, echo=claimed))
        assert await spend(ledger) == []

    async def test_a_price_that_is_not_known_is_counted_without_an_amount(self, ledger: Ledger) -> None:
        claimed, wamid = await self.sent(ledger)
        await take(ledger, charged(wamid, claimed, amount=None))
        assert await spend(ledger, "category") == [booked("marketing", 1, 0, unpriced=1, currency=None)]
        assert await ledger.money.booked(ORG, DAY, "EUR") == 0

    async def test_a_cost_that_came_before_its_message_was_known_finds_it(self, ledger: Ledger) -> None:
        await submit(ledger, template="order")
        claimed, wamid = await claim_one(ledger), a_wamid()
        await take(ledger, charged(wamid, None))
        assert await spend(ledger, "template") == [booked(None, 1, 113_100)]
        await accept(ledger, claimed, wamid)
        assert await spend(ledger, "template") == [booked("order", 1, 113_100)]

    async def test_what_was_sent_elsewhere_costs_the_org_all_the_same(self, ledger: Ledger) -> None:
        await take(ledger, charged(a_wamid(), None))
        await take(ledger, charged(a_wamid(), a_claim(id=987_654_321)))
        assert await spend(ledger, "template") == [booked(None, 2, 226_200)]

    async def test_days_are_told_in_their_order_and_the_rest_by_what_it_cost(self, ledger: Ledger) -> None:
        for number, category in enumerate(["utility", "marketing", "utility"]):
            at = Instant(T0 + days(1) * (2 - number))
            cheap = 1 if category == "utility" else 100
            await take(ledger, charged(a_wamid(), None, at=at, amount=cheap, category=category))
        assert [each.key for each in await spend(ledger)] == [str(DAY), str(DAY + 1), str(DAY + 2)]
        assert await spend(ledger, "category") == [booked("marketing", 1, 100), booked("utility", 2, 2)]
        assert [each.key for each in await ledger.money.spend(ORG, DAY, DAY + 1, "day")] == [str(DAY), str(DAY + 1)]
        assert await ledger.money.booked(ORG, DAY + 1, "EUR") == 101
        assert await ledger.money.booked(ORG, DAY + 1, "USD") == 0

    async def test_an_org_sees_only_its_own(self, ledger: Ledger) -> None:
        await take(ledger, charged(a_wamid(), None))
        assert await spend(ledger, org=OTHER_ORG) == []
        assert await ledger.money.booked(OTHER_ORG, DAY, "EUR") == 0

    async def test_templates_that_were_handed_over_and_have_not_arrived_are_on_the_way(self, ledger: Ledger) -> None:
        claimed, wamid = await self.sent(ledger, template="order", recipient=CUSTOMER)
        await submit(ledger, recipient="+4915100000009")
        await claim(ledger, now=later(minutes(1)))
        assert await ledger.money.on_the_way(ORG, T0) == [CUSTOMER]
        assert await ledger.money.on_the_way(ORG, later(days(1))) == []
        await take(ledger, charged(wamid, claimed))
        assert await ledger.money.on_the_way(ORG, T0) == []

    async def test_none_is_overlooked_because_thousands_are_on_the_way(self, ledger: Ledger) -> None:
        await submit(ledger, template="order", recipient=CUSTOMER)
        await asyncio.gather(*(submit(ledger, recipient=f"+4915{n:09}") for n in range(2000)))
        while await claim(ledger, slots=1000):
            pass
        assert await ledger.money.on_the_way(ORG, T0) == [CUSTOMER]

    async def test_a_cap_holds_the_org_until_it_is_lifted(self, ledgers: Ledgers) -> None:
        ledger, other = ledgers
        await submit(ledger)
        assert await ledger.money.cap(ORG, "spent", T0)
        assert not await other.money.cap(ORG, "spent", T0)
        assert await other.money.capped() == [ORG]
        assert await claim(ledger) == []
        assert await other.money.lift_cap(ORG)
        assert not await ledger.money.lift_cap(ORG)
        assert len(await claim(ledger)) == 1

"""Costs: the price in a status, the price by the org's list, and when a budget is reached."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.flow.accounts.budgets import SLICE, expected_cost
from waypost.model.ids import NumberId, OrgId
from waypost.model.money import Charge, Pricing
from waypost.model.policy import Budget, Price, PriceList
from waypost.model.time import Instant, days, from_datetime, hours, to_datetime
from waypost.model.webhook import StatusUpdate
from waypost.rules.limits import budget as budgets
from waypost.rules.limits import price
from waypost.rules.limits.price import Prices, calling_code, charge, prices_of
from waypost.rules.receiving import envelope, webhook
from waypost_testing.clock import ManualClock

LIST = PriceList(
    currency="EUR",
    prices=(
        Price(country="49", category="marketing", amount=Decimal("0.1131")),
        Price(country="1", category="marketing", amount=Decimal("0.025")),
        Price(country="1876", category="marketing", amount=Decimal("0.074")),
        Price(country="*", category="utility", amount=Decimal("0.01")),
        Price(country="49", category="utility", amount=Decimal("0.0456")),
    ),
)
PRICES = prices_of(LIST)
REGULAR = Pricing("PMP", "regular", "marketing", True)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        *(("+15550001111", "1"), ("+79161234567", "7"), ("+4915112345678", "49"), ("+351912345678", "351")),
        *(("+3725551234", "372"), ("+201001234567", "20"), ("+2125551234567", "212"), ("+998901234567", "998")),
        *(("+6591234567", "65"), ("+67512345678", "675"), ("+85212345678", "852"), ("+8613812345678", "86")),
        *(("", ""), ("someone", ""), ("US.13491208655302741918", "")),
    ],
)
def test_a_number_tells_its_country(number: str, code: str) -> None:
    assert calling_code(number) == code


@given(st.integers(1_000_000, 10**15 - 1))
def test_every_number_has_a_country_of_one_to_three_digits(number: int) -> None:
    code = calling_code(f"+{number}")
    assert 1 <= len(code) <= 3
    assert str(number).startswith(code)


def test_our_codes_are_those_of_the_numbering_plan() -> None:
    from phonenumbers import COUNTRY_CODE_TO_REGION_CODE  # noqa: PLC0415  # only here, and it is large

    for code in COUNTRY_CODE_TO_REGION_CODE:
        assert calling_code(f"+{code}0000000"[:16]) == str(code)


@pytest.mark.parametrize(
    ("recipient", "category", "micros"),
    [
        ("+4915112345678", "marketing", 113_100),
        ("+15551234567", "marketing", 25_000),
        ("+18765551234", "marketing", 74_000),
        ("+33612345678", "marketing", None),
        ("+33612345678", "utility", 10_000),
        ("+4915112345678", "utility", 45_600),
        ("+4915112345678", "authentication", None),
        ("US.13491208655302741918", "marketing", None),
        ("US.13491208655302741918", "utility", 10_000),
    ],
)
def test_the_most_particular_price_counts(recipient: str, category: str, micros: int | None) -> None:
    assert PRICES.of(recipient, category) == micros


def test_what_is_free_costs_nothing_and_what_is_unknown_has_no_amount() -> None:
    to = "+4915112345678"
    assert charge(REGULAR, to, PRICES) == Charge(
        model="PMP", type="regular", category="marketing", country="49", amount_micros=113_100, currency="EUR"
    )
    for free in (
        Pricing("PMP", "free_customer_service", "utility"),
        Pricing("PMP", "free_entry_point", "marketing", True),
        Pricing("PMP", "regular", "marketing", False),
    ):
        told = charge(free, to, PRICES)
        assert (told.amount_micros, told.currency) == (0, "EUR")
    assert charge(Pricing("PMP", "free_customer_service", "service"), to, None).amount_micros == 0
    for unknown in (charge(REGULAR, to, None), charge(Pricing("PMP", "regular", "authentication"), to, PRICES)):
        assert (unknown.amount_micros, unknown.currency) == (None, None)


def read(kind: str, pricing: Any, prices: Prices | None = PRICES) -> StatusUpdate:
    status = {"id": "wamid.1", "status": kind, "timestamp": "1760000000", "recipient_id": "4915112345678"}
    value = {"metadata": {"phone_number_id": "1"}, "statuses": [status | {"pricing": pricing}]}
    body = {"entry": [{"id": "2", "changes": [{"field": "messages", "value": value}]}]}
    (part,) = envelope.parts(msgspec.json.encode(body))
    (told,) = webhook.read(part, OrgId("acme"), NumberId("1"), Instant(0), prices=prices).statuses
    return told


TOLD = {"billable": True, "pricing_model": "PMP", "type": "regular", "category": "marketing"}


@pytest.mark.parametrize(
    ("kind", "booked"), [("sent", False), ("delivered", True), ("read", True), ("failed", False), ("played", False)]
)
def test_only_what_arrived_is_charged(kind: str, booked: bool) -> None:
    told = read(kind, TOLD)
    assert told.pricing == REGULAR
    assert (told.charge is not None) == booked


@pytest.mark.parametrize("pricing", ["text", 5, [], {"type": 7}, {"billable": "yes"}, {"category": None}])
def test_a_malformed_price_does_not_lose_the_status(pricing: Any) -> None:
    told = read("delivered", pricing)
    assert (told.wamid, told.pricing, told.charge) == ("wamid.1", None, None)


def test_a_status_without_a_price_books_nothing_and_a_strange_one_is_kept_short() -> None:
    assert read("delivered", None).charge is None
    told = read("delivered", {"category": "c" * 1000 + "\0", "type": "regular\0"})
    assert told.charge is not None
    assert (len(told.charge.category), told.charge.type, told.charge.amount_micros) == (40, "regular\ufffd", None)


def at(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text))


@pytest.mark.parametrize(
    ("period", "now", "first", "end"),
    [
        ("day", "2026-11-16T23:59:59+00:00", date(2026, 11, 16), "2026-11-17T00:00:00+00:00"),
        ("month", "2026-11-30T23:59:59+00:00", date(2026, 11, 1), "2026-12-01T00:00:00+00:00"),
        ("month", "2026-12-31T12:00:00+00:00", date(2026, 12, 1), "2027-01-01T00:00:00+00:00"),
        ("month", "2028-02-29T12:00:00+00:00", date(2028, 2, 1), "2028-03-01T00:00:00+00:00"),
    ],
)
def test_a_period_begins_and_ends_in_utc(period: Any, now: str, first: date, end: str) -> None:
    budget = Budget(amount=Decimal(5), period=period)
    assert budgets.as_date(budgets.first_day(budget, at(now))) == first
    assert budgets.ends_at(budget, at(now)) == at(end)


@given(st.sampled_from(["day", "month"]), st.integers(0, 4_000_000_000))
def test_now_lies_within_its_period_and_the_next_begins_at_its_end(period: Any, unix: int) -> None:
    budget, now = Budget(amount=Decimal(5), period=period), Instant(unix * 1_000_000)
    end = budgets.ends_at(budget, now)
    assert budgets.first_day(budget, now) * days(1) <= now < end <= now + days(32)
    assert budgets.first_day(budget, end) * days(1) == end
    assert to_datetime(end).hour == 0
    assert end - now <= days(31) + hours(24)


def test_a_budget_is_reached_with_what_is_on_the_way() -> None:
    budget = Budget(amount=Decimal("1.00"))
    assert not budgets.is_reached(budget, 999_999, 0)
    assert budgets.is_reached(budget, 1_000_000, 0)
    assert budgets.is_reached(budget, 900_000, 100_000)
    assert budgets.is_reached(Budget(amount=Decimal(0)), 0, 0)


def test_the_reason_says_what_to_do() -> None:
    told = budgets.reason(Budget(amount=Decimal("1.00")), "EUR", 1_113_100, at("2026-11-16T12:00:00+00:00"))
    assert told == "1.1131 EUR of the month's 1.00 are booked: raise the budget, or wait for 2026-12-01"


def test_what_is_on_the_way_is_expected_at_the_dearest_price() -> None:
    assert PRICES.dearest("+4915112345678") == 113_100
    assert PRICES.dearest("+33612345678") == 10_000
    assert Prices("EUR", {}).dearest("+33612345678") == 0


PLACES = ["*", "1", "18", "1876", "4", "49", "4915112"]
LISTS = st.dictionaries(st.tuples(st.sampled_from(PLACES), st.sampled_from("abc")), st.integers(0, 9))


@given(LISTS, st.sampled_from(["+18765551234", "+15550001111", "+4915112345678", "+4", "+33612345678", "US.134", ""]))
def test_the_dearest_price_is_that_of_the_dearest_category(by_place: dict[tuple[str, str], int], to: str) -> None:
    prices = Prices("EUR", by_place)
    assert prices.dearest(to) == max((prices.of(to, category) or 0 for category in "abc"), default=0)


class Walked(dict[tuple[str, str], int]):
    """A price list that counts how often it is iterated over."""

    times = 0

    def __iter__(self) -> Iterator[tuple[str, str]]:
        self.times += 1
        return super().__iter__()

    def items(self) -> Any:
        self.times += 1
        return super().items()


def test_the_price_list_is_gone_through_once_and_not_for_every_recipient() -> None:
    walked = Walked(PRICES.by_place)
    prices = Prices("EUR", walked)
    assert sum(prices.dearest(f"+49151{number}") for number in range(1000)) == 113_100_000
    assert walked.times == 1


async def test_everybody_else_has_a_turn_while_thousands_on_the_way_are_counted() -> None:
    others = 0

    async def another() -> None:
        nonlocal others
        while True:
            others += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(another())
    many = ["+4915112345678"] * (SLICE * 5 + 1)
    assert await expected_cost(many, PRICES, ManualClock()) == 113_100 * len(many)
    task.cancel()
    assert others >= 5


@given(st.decimals(0, 1_000_000_000, places=6))
def test_money_is_neither_made_nor_lost_on_the_way_through_millionths(amount: Decimal) -> None:
    assert price.amount(price.micros(amount)) == amount

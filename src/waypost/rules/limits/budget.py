"""Whether an org has reached its budget for the day or month."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from waypost.model.policy import Budget
from waypost.model.time import Instant, Span, days, from_datetime, hours, to_datetime
from waypost.rules.limits.price import amount, micros

ON_THE_WAY: Span = hours(1)
"""How long a sent message counts towards the budget before delivery; later it counts only once delivered."""
_EPOCH = date(1970, 1, 1)


def day_of(moment: Instant) -> int:
    """Days since 1970, UTC; costs are recorded by day."""
    return moment // days(1)


def as_date(day: int) -> date:
    return _EPOCH + timedelta(days=day)


def as_day(of: date) -> int:
    return (of - _EPOCH).days


def first_day(budget: Budget, now: Instant) -> int:
    today = to_datetime(now).date()
    return as_day(today if budget.period == "day" else today.replace(day=1))


def ends_at(budget: Budget, now: Instant) -> Instant:
    """When the current day or month ends."""
    first = as_date(first_day(budget, now))
    following = first + timedelta(days=1 if budget.period == "day" else 32)
    start = following if budget.period == "day" else following.replace(day=1)
    return from_datetime(datetime(start.year, start.month, start.day, tzinfo=UTC))


def is_reached(budget: Budget, booked: int, expected: int) -> bool:
    """Including the expected cost of messages on the way; a budget of 0 is reached at once."""
    return booked + expected >= micros(budget.amount)


def reason(budget: Budget, currency: str, booked: int, now: Instant) -> str:
    spent = f"{amount(booked):f}".rstrip("0").rstrip(".")
    until = to_datetime(ends_at(budget, now)).date()
    return (
        f"{spent} {currency} of the {budget.period}'s {budget.amount} are booked: raise the budget, or wait for {until}"
    )

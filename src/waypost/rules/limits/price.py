"""The cost of a delivered message by the org's price list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property

import msgspec

from waypost.model.money import Charge, Pricing
from waypost.model.policy import PriceList

MICROS = 1_000_000
EVERYWHERE = "*"
LONGEST_CODE = 7
_FREE = "free"
_TWO_DIGITS = re.compile(r"2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]", re.ASCII)
"""Two-digit country codes; except for 1 and 7, all others have three digits."""


class Prices(msgspec.Struct, frozen=True, dict=True):
    """A price list, prepared for lookups; `dict` allows cached properties."""

    currency: str
    by_place: Mapping[tuple[str, str], int]
    """(the number's first digits, category) -> millionths."""

    def of(self, recipient: str, category: str) -> int | None:
        """The price of the longest matching prefix; None if the list has none."""
        digits = recipient.removeprefix("+")
        for length in range(min(LONGEST_CODE, len(digits)), 0, -1):
            if (found := self.by_place.get((digits[:length], category))) is not None:
                return found
        return self.by_place.get((EVERYWHERE, category))

    def dearest(self, recipient: str) -> int:
        """The highest price of any category, for a message whose category is not known yet."""
        digits = recipient.removeprefix("+")
        for length in self._lengths:
            if (found := self._dearest_at.get(digits[:length])) is not None:
                return found
        return self._dearest_at[EVERYWHERE]

    @cached_property
    def _dearest_at(self) -> Mapping[str, int]:
        """The highest price by prefix, for numbers that match no longer prefix."""
        at: dict[str, dict[str, int]] = {EVERYWHERE: {}}
        for (place, category), price in self.by_place.items():
            at.setdefault(place, {})[category] = price
        return {place: max(_in_force(at, place).values(), default=0) for place in at}

    @cached_property
    def _lengths(self) -> Sequence[int]:
        return sorted({len(place) for place in self._dearest_at if place != EVERYWHERE}, reverse=True)


def _in_force(at: Mapping[str, Mapping[str, int]], place: str) -> dict[str, int]:
    """Prices by category, including those inherited from shorter prefixes."""
    found = dict(at[EVERYWHERE])
    for length in range(1, len(place) + 1):
        found |= at.get(place[:length], {})
    return found


def prices_of(listed: PriceList) -> Prices:
    return Prices(listed.currency, {(p.country, p.category): micros(p.amount) for p in listed.prices})


def micros(amount: Decimal) -> int:
    return int(amount * MICROS)


def amount(of_micros: int) -> Decimal:
    return Decimal(of_micros).scaleb(-6)


def calling_code(recipient: str) -> str:
    """The country code of an international number; empty for anything else."""
    digits = recipient.removeprefix("+")
    if not digits.isdecimal():
        return ""
    if digits[0] in "17":
        return digits[0]
    return digits[: 2 if _TWO_DIGITS.match(digits) else 3]


def charge(pricing: Pricing, recipient: str, prices: Prices | None) -> Charge:
    """A free message costs 0; one without a price in the list has no amount, but is still counted."""
    free = pricing.billable is False or pricing.type.startswith(_FREE)
    cost = 0 if free else prices.of(recipient, pricing.category) if prices else None
    known = prices is not None and cost is not None
    return Charge(
        model=pricing.model,
        type=pricing.type,
        category=pricing.category,
        country=calling_code(recipient),
        amount_micros=cost,
        currency=prices.currency if prices and known else None,
    )

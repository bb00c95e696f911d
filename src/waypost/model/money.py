"""What messages cost: as the provider says it, and as it is booked."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec


class Pricing(msgspec.Struct, frozen=True):
    """The provider's word on what a message counts as."""

    model: str
    type: str
    """`regular`, or one of those that begin with `free`."""
    category: str
    billable: bool | None = None


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """What one delivered message costs."""

    model: str
    type: str
    category: str
    country: str
    """The calling code."""
    amount_micros: int | None
    """Millionths of the currency; None where the price list does not know."""
    currency: str | None


By: TypeAlias = Literal["day", "template", "category", "dossier"]


class Spend(msgspec.Struct, frozen=True, kw_only=True):
    """What came together under one heading, in one currency."""

    key: str | None
    """The day, template, category or dossier; None for messages without one."""
    currency: str | None
    messages: int
    unpriced: int
    """Of those, how many have no amount."""
    amount_micros: int

"""Message costs: as the provider reports them and as they are recorded."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec


class Pricing(msgspec.Struct, frozen=True):
    """How the provider classifies a message for billing."""

    model: str
    type: str
    """`regular`, or a type that begins with `free`."""
    category: str
    billable: bool | None = None


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of one delivered message."""

    model: str
    type: str
    category: str
    country: str
    """The calling code."""
    amount_micros: int | None
    """Millionths of the currency; None if the price list has no price."""
    currency: str | None


By: TypeAlias = Literal["day", "template", "category", "dossier"]


class Spend(msgspec.Struct, frozen=True, kw_only=True):
    """Total cost of one group in one currency."""

    key: str | None
    """The day, template, category or dossier; None for messages without one."""
    currency: str | None
    messages: int
    unpriced: int
    """How many of them have no amount."""
    amount_micros: int

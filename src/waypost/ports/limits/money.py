"""Message costs, and the budget cap of an org."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from waypost.model.ids import OrgId
from waypost.model.money import By, Spend
from waypost.model.time import Instant


class Money(Protocol):
    """`Journal.apply_webhook` records a cost once per wamid, in the transaction of the status that reports it."""

    async def spend(self, org: OrgId, first_day: int, last_day: int, by: By) -> Sequence[Spend]:
        """Recorded costs of these days (since 1970, UTC; both included), by group and currency.

        Days in order, other groups by cost, highest first; at most a thousand.
        """

    async def booked(self, org: OrgId, since_day: int, currency: str) -> int:
        """Recorded costs from that day on, in millionths of the currency."""

    async def on_the_way(self, org: OrgId, since: Instant) -> Sequence[str]:
        """Recipients of templates sent since then and not delivered yet; the newest 100,000 per state."""

    async def capped(self) -> Sequence[OrgId]:
        """The orgs whose budget holds their messages."""

    async def cap(self, org: OrgId, reason: str, now: Instant) -> bool:
        """Hold all of the org's messages; False if they are already held, for this or any other reason."""

    async def lift_cap(self, org: OrgId) -> bool:
        """Release messages held by the budget, but not those held for another reason."""

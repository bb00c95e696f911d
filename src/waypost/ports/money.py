"""What messages cost, and the cap that an org has put on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from waypost.model.ids import OrgId
from waypost.model.money import By, Spend
from waypost.model.time import Instant


class Money(Protocol):
    """Costs are booked by `Journal.take`, once per wamid, in the same transaction as the status that tells of them."""

    async def spend(self, org: OrgId, first_day: int, last_day: int, by: By) -> Sequence[Spend]:
        """What was booked on these days (since 1970, UTC; both included), under each heading and currency.

        Days in their order, everything else the dearest first; at most a thousand.
        """

    async def booked(self, org: OrgId, since_day: int, currency: str) -> int:
        """Millionths of the currency that were booked on that day and after it."""

    async def on_the_way(self, org: OrgId, since: Instant) -> Sequence[str]:
        """The recipients of templates handed over since then that have not arrived; the newest 100,000 of a state."""

    async def capped(self) -> Sequence[OrgId]:
        """The orgs whose budget holds their messages."""

    async def cap(self, org: OrgId, reason: str, now: Instant) -> bool:
        """Hold all of the org's messages; False when they are held already, by this or anything else."""

    async def lift_cap(self, org: OrgId) -> bool:
        """Release what the budget held, and nothing that is held for another reason."""

"""From a number that cannot send to the one that its org named for that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from waypost.model.ids import MessageId, NumberId, OrgId
from waypost.model.time import Instant


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """An outlet whose number's gate stays closed, and the open number that takes over."""

    outlet: int
    org_id: OrgId
    number: NumberId
    template: str
    other: NumberId
    reason: str
    """Why its own number cannot send."""


class Place(msgspec.Struct, frozen=True, order=True):
    """A place in an outlet's queue."""

    rank: int
    message_id: int


START = Place(-(2**62), 0)


class Moved(msgspec.Struct, frozen=True):
    messages: Sequence[MessageId]
    after: Place | None
    """Where to look on; None at the end of the queue."""


class Failover(Protocol):
    async def routes(self, now: Instant) -> Sequence[Route]:
        """Where messages wait behind a number's or an account's gate that stays closed for long, by outlet.

        Only where the number that was named for that has every gate open, and a template's outlet only where both
        share the business account. A number that somebody disabled is no outage: it holds its messages.
        """

    async def move(self, route: Route, after: Place, limit: int, now: Instant, *, enforce_window: bool) -> Moved:
        """Look at the next `limit` messages after that place, and give to the other number those that `may_move`.

        One transaction: sender, outlet and an event `failed_over` change together. A message that a claim holds is not
        seen; one that was moved is claimed from its new outlet, and from nowhere else.
        """

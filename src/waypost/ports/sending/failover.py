"""Failover: messages move from a number that cannot send to the org's failover number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from waypost.model.ids import MessageId, NumberId, OrgId
from waypost.model.time import Instant


class FailoverRoute(msgspec.Struct, frozen=True, kw_only=True):
    """A dispatch group whose number's gate stays closed, and the open number that takes over."""

    group: int
    org_id: OrgId
    number: NumberId
    template: str
    other: NumberId
    reason: str
    """Why its number cannot send."""


class QueuePosition(msgspec.Struct, frozen=True, order=True):
    """A position in the queue of a dispatch group."""

    rank: int
    message_id: int


START = QueuePosition(-(2**62), 0)


class FailoverResult(msgspec.Struct, frozen=True):
    messages: Sequence[MessageId]
    after: QueuePosition | None
    """Where to continue; None at the end of the queue."""


class Failover(Protocol):
    async def routes(self, now: Instant) -> Sequence[FailoverRoute]:
        """Dispatch groups with messages behind a number's or account's gate that stays closed for long.

        Only where all gates of the failover number are open; a template's group only where both numbers share the
        business account. A disabled number is not an outage: it holds its messages.
        """

    async def move(
        self, route: FailoverRoute, after: QueuePosition, limit: int, now: Instant, *, enforce_window: bool
    ) -> FailoverResult:
        """Check the next `limit` messages after that position, and move those that `may_move` to the other number.

        One transaction changes sender and dispatch group and adds the event `failed_over`. A claimed message is
        skipped; a moved message can only be claimed from its new group.
        """

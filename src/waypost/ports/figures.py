"""A look at the whole Ledger for an operator's figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from waypost.model.figures import Survey, Waiting
from waypost.model.ids import OrgId
from waypost.model.overview import Lately
from waypost.model.time import Instant


class Figures(Protocol):
    async def survey(self, most: int, now: Instant) -> Survey:
        """What waits and what is closed: at most `most` queues and quotas, and each queue counted up to a limit.

        Bounded, so that it costs the same in front of a million messages; it locks nothing.
        """

    async def waiting(self, org: OrgId, now: Instant) -> Sequence[Waiting]:
        """What of one org is due and waits, by reason, the longest queue first; each counted up to a limit."""

    async def lately(self, org: OrgId, most: int) -> Lately:
        """The stations of the org's messages: of those that went or ended the `most` newest of each status, of those
        that wait the oldest; and the customers' messages among the `most` newest things that its team was told.

        Bounded, and true for any number of processes; not all of one moment."""

"""A look at the whole Ledger for an operator's figures."""

from __future__ import annotations

from typing import Protocol

from waypost.model.figures import Survey
from waypost.model.time import Instant


class Figures(Protocol):
    async def survey(self, most: int, now: Instant) -> Survey:
        """What waits and what is closed: at most `most` queues and quotas, and each queue counted up to a limit.

        Bounded, so that it costs the same in front of a million messages; it locks nothing.
        """

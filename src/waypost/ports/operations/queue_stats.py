"""Queue statistics for operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from waypost.model.ids import OrgId
from waypost.model.overview import RecentTraffic
from waypost.model.queue_stats import QueueSurvey, WaitingMessages
from waypost.model.time import Instant


class QueueStats(Protocol):
    async def survey(self, most: int, now: Instant) -> QueueSurvey:
        """Waiting messages and closed gates: at most `most` queues and quotas, each queue counted up to a limit.

        Bounded, so that it costs the same with a million messages; takes no locks.
        """

    async def waiting(self, org: OrgId, now: Instant) -> Sequence[WaitingMessages]:
        """The waiting due messages of one org, by reason, longest queue first; each counted up to a limit."""

    async def lately(self, org: OrgId, most: int) -> RecentTraffic:
        """Timestamps of the org's messages: the `most` newest of each status that were sent or ended, and the oldest
        waiting ones; and the customers' messages among the `most` newest items of the team's feed.

        Bounded, and covers all processes; not a single snapshot."""

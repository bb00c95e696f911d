"""Every write of one process, in four lanes: the long way through the kernel, and the short ways beside it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeAlias, TypeVar

from waypost.adapters.sql import accepting, reporting
from waypost.adapters.sql.group_commit import GroupCommit
from waypost.adapters.sql.intents import Intent, Settle
from waypost.adapters.sql.kernel import Decided, decide_together
from waypost.adapters.sql.plan import Plan
from waypost.adapters.sql.taking import Take
from waypost.model.ids import OrgId
from waypost.ports.journal import Taken
from waypost.ports.outbox import Settled

T = TypeVar("T")


class Lane(Enum):
    """Lanes never wait for each other's commits; an engine may give each a connection of its own."""

    LONG = "long"
    ACCEPT = "accept"
    REPORT = "report"
    ARRIVE = "arrive"


Address: TypeAlias = tuple[OrgId, str]
Heads: TypeAlias = Callable[[Mapping[str, int]], None]
"""Told after every commit that added to feeds: where they stand now."""


class Run(Protocol):
    def __call__(self, lane: Lane, plan: Plan[T], /) -> Awaitable[T]:
        """How an engine runs a plan; raises Conflict, a LedgerError, or what poisoned it."""


@dataclass(frozen=True, slots=True)
class ShortWays:
    """One answer per intent, or None for what must go the long way; a database may have better ones of its own."""

    accept: Callable[[Sequence[Settle]], Plan[list[Settled | None]]] = accepting.accept_together
    report: Callable[[Sequence[Take]], Plan[list[Taken | None]]] = reporting.report_together
    arrive: Callable[[Sequence[Take], Container[Address]], Plan[Decided]] | None = None
    """Whoever writes, in the order in which they came, and which of them have something on the long way already."""


class Writer:
    def __init__(self, run: Run, ways: ShortWays | None = None) -> None:
        short = ways or ShortWays()
        self.heads: Heads = lambda _: None
        self._long: GroupCommit[Intent] = GroupCommit(
            lambda i: self._told(run(Lane.LONG, decide_together(i))), weight=_weight
        )
        self._accepts: GroupCommit[Settle] = GroupCommit(lambda i: run(Lane.ACCEPT, short.accept(i)))
        self._reports: GroupCommit[Take] = GroupCommit(lambda i: run(Lane.REPORT, short.report(i)), weight=_weight)
        self._arrivals: GroupCommit[Take] | None = None
        if arrive := short.arrive:
            self._arrivals = GroupCommit(
                lambda i: self._told(run(Lane.ARRIVE, arrive(i, self._detours))), weight=_weight, hands_on=True
            )
        self._detours: Counter[Address] = Counter()
        """Who has something on the long way: what they say next must not overtake it."""

    async def _told(self, running: Awaitable[Decided]) -> list[Any]:
        decided = await running
        if decided.heads:
            self.heads(decided.heads)
        return decided.answers

    async def decide(self, intent: Intent) -> Any:
        """The intent's answer, after the COMMIT that it shared with others."""
        return await self._long.do(intent)

    async def settle(self, intent: Settle) -> Settled:
        """The short way where it fits, else the long one."""
        settled: Settled | None = await self._accepts.do(intent) if accepting.is_short(intent) else None
        if settled is None:
            settled = await self._long.do(intent)
        return settled

    async def take(self, intent: Take) -> Taken:
        """The short way where it fits, else the long one."""
        if self._arrivals is not None and intent.post.arrivals:
            return await self._arrivals.do(intent) or await self._detour(intent)
        taken: Taken | None = await self._reports.do(intent) if reporting.is_short(intent) else None
        if taken is None:
            taken = await self._long.do(intent)
        return taken

    async def _detour(self, intent: Take) -> Taken:
        """Until it is stored, though its caller may go away before."""
        storing = self._long.hand_in(intent)
        people = {(told.org_id, address) for told in intent.post.arrivals for address in told.addresses}
        self._detours.update(people)
        storing.add_done_callback(lambda _: self._arrived(people))
        taken: Taken = await asyncio.shield(storing)
        return taken

    def _arrived(self, people: Set[Address]) -> None:
        self._detours.subtract(people)
        for name in people:
            if not self._detours[name]:
                del self._detours[name]

    async def close(self) -> None:
        """Finish what waits; a short way may still hand on to the long one."""
        await self._accepts.close()
        await self._reports.close()
        if self._arrivals is not None:
            await self._arrivals.close()
        await self._long.close()


def _weight(intent: Intent) -> int:
    """A POST may carry a thousand updates; everything else is one."""
    if not isinstance(intent, Take):
        return 1
    return 1 + len(intent.post.reports) + len(intent.post.items) + len(intent.post.arrivals)

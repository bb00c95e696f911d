"""Every write of one process, in three lanes: the long way through the kernel, and the two short ways beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeAlias, TypeVar

from waypost.adapters.sql import accepting, reporting
from waypost.adapters.sql.group_commit import GroupCommit
from waypost.adapters.sql.intents import Intent, Settle
from waypost.adapters.sql.kernel import decide_together
from waypost.adapters.sql.plan import Plan
from waypost.adapters.sql.taking import Take
from waypost.ports.journal import Taken
from waypost.ports.outbox import Settled

T = TypeVar("T")


class Lane(Enum):
    """Lanes never wait for each other's commits; an engine may give each a connection of its own."""

    LONG = "long"
    ACCEPT = "accept"
    REPORT = "report"


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


class Writer:
    def __init__(self, run: Run, ways: ShortWays | None = None) -> None:
        short = ways or ShortWays()
        self._run = run
        self.heads: Heads = lambda _: None
        self._long: GroupCommit[Intent] = GroupCommit(self._decide_all, weight=_weight)
        self._accepts: GroupCommit[Settle] = GroupCommit(lambda i: run(Lane.ACCEPT, short.accept(i)))
        self._reports: GroupCommit[Take] = GroupCommit(lambda i: run(Lane.REPORT, short.report(i)), weight=_weight)

    async def _decide_all(self, intents: Sequence[Intent]) -> list[Any]:
        decided = await self._run(Lane.LONG, decide_together(intents))
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
        taken: Taken | None = await self._reports.do(intent) if reporting.is_short(intent) else None
        if taken is None:
            taken = await self._long.do(intent)
        return taken

    async def close(self) -> None:
        """Finish what waits; a short way may still hand on to the long one."""
        await self._accepts.close()
        await self._reports.close()
        await self._long.close()


def _weight(intent: Intent) -> int:
    """A POST may carry a thousand updates; everything else is one."""
    if not isinstance(intent, Take):
        return 1
    return 1 + len(intent.post.reports) + len(intent.post.items) + len(intent.post.arrivals)

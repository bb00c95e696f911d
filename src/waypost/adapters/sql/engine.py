"""What an engine must be able to do; everything else of the Ledger is written once on top of it."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias, TypeVar

from waypost.adapters.sql.plan import Plan, Row
from waypost.adapters.sql.writer import Writer
from waypost.model.time import Instant

T = TypeVar("T")
LineName: TypeAlias = Literal["claims", "turns", "search"]


class Engine(Protocol):
    def now(self) -> Instant:
        """The Ledger's own clock, where the database does not keep a better one."""

    @property
    def writer(self) -> Writer:
        """What is decided in one transaction with others."""

    async def transact(self, plan: Plan[T], line: LineName = "claims") -> T:
        """Run one plan in a transaction of its own; safe to lose, never to double.

        Lines need not wait for each other: a heartbeat of a turn must not stand behind anybody's housekeeping.
        """

    async def read(self, statement: str, *arguments: object) -> list[Row]:
        """Run one reading statement on what is committed; an argument may be a list of numbers."""

    async def ping(self) -> None:
        """Return when the database answers with the right schema."""

    async def close(self) -> None:
        """Finish what waits, then let go."""

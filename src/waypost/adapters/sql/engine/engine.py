"""The interface of a database engine; the rest of the Ledger is written once on top of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Literal, Protocol, TypeAlias, TypeVar

from waypost.adapters.sql.engine.plan import Plan, Row
from waypost.model.time import Instant

T = TypeVar("T")
ConnectionName: TypeAlias = Literal["claims", "turns", "search"]


class CommitQueue(Enum):
    """Queues never wait for each other's commits; an engine may give each a connection of its own."""

    FULL = "full"
    ACCEPT = "accept"
    REPORT = "report"
    ARRIVE = "arrive"


class Engine(Protocol):
    def now(self) -> Instant:
        """The Ledger's clock, unless the database has a better one."""

    async def run(self, queue: CommitQueue, plan: Plan[T]) -> T:
        """Run a batch's plan in a transaction; raises TransactionConflict, a LedgerError, or an intent's own error."""

    async def transact(self, plan: Plan[T], line: ConnectionName = "claims") -> T:
        """Run one plan in a transaction of its own; a plan may be lost, but never runs twice.

        Connections do not wait for each other: a turn's heartbeat must not queue behind maintenance.
        """

    async def read(self, statement: str, *arguments: object) -> list[Row]:
        """Run one reading statement on committed data; an argument may be a list."""

    async def time(self) -> Instant:
        """The Ledger's time: the database's own clock, if it has one."""

    async def ping(self) -> None:
        """Return if the database answers and has the right schema."""

    async def close(self, finish: Callable[[], Awaitable[None]] | None = None) -> None:
        """Await `finish`, which commits queued work, then close all connections; if cancelled, close them at once."""

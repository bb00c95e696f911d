"""What an engine must be able to do; everything else of the Ledger is written once on top of it."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from waypost.adapters.sql.intents import Intent, Settle, Take
from waypost.adapters.sql.plan import Plan, Row
from waypost.model.time import Instant
from waypost.ports.journal import Taken
from waypost.ports.outbox import Settled

T = TypeVar("T")


class Engine(Protocol):
    def now(self) -> Instant:
        """The Ledger's own clock, where the database does not keep a better one."""

    async def decide(self, intent: Intent) -> Any:
        """The intent's answer, after the COMMIT that it shared with others."""

    async def accept(self, intent: Settle) -> Settled | None:
        """The short way of a settle, shared with others; None when it needs the long one."""

    async def report(self, intent: Take) -> Taken | None:
        """The short way of a webhook POST, shared with others; None when it needs the long one."""

    async def transact(self, plan: Plan[T]) -> T:
        """Run one plan in a transaction of its own; safe to lose, never to double."""

    async def read(self, statement: str, *arguments: object) -> list[Row]:
        """Run one reading statement on what is committed."""

    async def ping(self) -> None:
        """Return when the database answers with the right schema."""

    async def close(self) -> None:
        """Finish what waits, then let go."""

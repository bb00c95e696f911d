"""What an operator wants to know of the whole: figures, and whether anybody is there who sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from waypost.model.ids import MessageId, OrgId
from waypost.model.message import Status
from waypost.model.time import Instant


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """The moments of one message."""

    wanted_at: Instant
    """When it was to go: on arrival, or at the time that its caller chose."""
    sent_at: Instant | None
    delivered_at: Instant | None


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    counts: Mapping[Status, int]
    """Every status, each counted up to the limit."""
    retries: Mapping[int, int]
    """Of the recent messages, how many second, third, … tries there were, by the number of the try."""
    recent: Sequence[Times]
    """Of the recent messages, newest first."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a queued message waits, if not for its time."""

    ready_since: Instant | None
    head: MessageId | None
    """Of a message that stands in line: the first of its queue."""


class Operating(Protocol):
    async def tally(self, org: OrgId, recent: int, count_at_most: int) -> Tally:
        """The org's figures; looks at no more than the `recent` newest messages and counts no further than told."""

    async def place(self, message: MessageId) -> Place:
        """Where the message waits."""

    async def heads(self, messages: Sequence[MessageId]) -> Mapping[MessageId, MessageId]:
        """Of those that stand in line, the first of their queue; by a probe each."""

    async def worker_lives(self, now: Instant) -> None:
        """A process that sends says that it is there; an older word changes nothing."""

    async def worker_seen_at(self) -> Instant | None:
        """When one last said so."""

    async def looked_for_losses(self, now: Instant) -> None:
        """A process says that it has looked for what must never be; an older word changes nothing."""

    async def losses_looked_for_at(self) -> Instant | None:
        """When one last did."""

    async def identity(self) -> str | None:
        """Which Ledger this is; None while nobody has asked for it to be named. A copy or a backup of it is called the
        same: what is kept outside it, the Log, is theirs as much as its own."""

    async def identify(self, fresh: str) -> str:
        """Which Ledger this is, from now on for good: `fresh`, unless it was named before, by any process."""

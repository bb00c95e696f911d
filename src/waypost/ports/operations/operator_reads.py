"""Reads for operators: message counts, queue positions, and whether workers run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from waypost.model.ids import MessageId, OrgId
from waypost.model.message import Status
from waypost.model.time import Instant


class MessageTimes(msgspec.Struct, frozen=True, kw_only=True):
    """The timestamps of one message."""

    wanted_at: Instant
    """When it should be sent: when submitted, or at its scheduled time."""
    sent_at: Instant | None
    delivered_at: Instant | None


class MessageCounts(msgspec.Struct, frozen=True, kw_only=True):
    counts: Mapping[Status, int]
    """All statuses, each counted up to the limit."""
    retries: Mapping[int, int]
    """Number of second, third, … attempts of the recent messages, by attempt number."""
    recent: Sequence[MessageTimes]
    """Timestamps of the recent messages, newest first."""


class QueueStanding(msgspec.Struct, frozen=True, kw_only=True):
    """Where a due message waits."""

    ready_since: Instant | None
    head: MessageId | None
    """The first message of its ordered queue, if it waits in one."""


class OperatorReads(Protocol):
    async def tally(self, org: OrgId, recent: int, count_at_most: int) -> MessageCounts:
        """The org's figures; reads at most the `recent` newest messages and counts up to `count_at_most`."""

    async def place(self, message: MessageId) -> QueueStanding:
        """Where the message waits."""

    async def heads(self, messages: Sequence[MessageId]) -> Mapping[MessageId, MessageId]:
        """For messages in an ordered queue, the first of their queue; one lookup each."""

    async def record_worker_seen(self, now: Instant) -> None:
        """Record that a worker is running; an older time changes nothing."""

    async def worker_seen_at(self) -> Instant | None:
        """When a worker was last seen."""

    async def record_detector_run(self, now: Instant) -> None:
        """Record that the invariant checks ran; an older time changes nothing."""

    async def detector_ran_at(self) -> Instant | None:
        """When they last ran."""

    async def identity(self) -> str | None:
        """The id of this Ledger; None until `identify` was called. A copy or a backup has the same id, and may use the
        same history store."""

    async def identify(self, fresh: str) -> str:
        """The permanent id of this Ledger: `fresh`, unless any process set one before."""

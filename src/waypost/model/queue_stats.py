"""Queue statistics for operators: waiting messages, closed gates, used quotas."""

from __future__ import annotations

import msgspec

from waypost.model.ids import OrgId
from waypost.model.time import Instant


class WaitingMessages(msgspec.Struct, frozen=True):
    """Due messages of one org that wait for the same thing."""

    org_id: OrgId
    reason: str
    """The `deferredBy` value; `none` if they only wait for a free worker."""
    messages: int
    oldest_at: Instant


class QuotaUse(msgspec.Struct, frozen=True):
    org_id: OrgId
    used: int
    most: int


class ClosedGates(msgspec.Struct, frozen=True):
    kind: str
    code: str
    gates: int


class OpenTurns(msgspec.Struct, frozen=True, kw_only=True):
    backlog: int = 0
    """Turns that are due and not claimed."""
    first_due_at: Instant | None = None
    first_claimed_at: Instant | None = None
    """Of the claimed turns."""


class WaitingFiles(msgspec.Struct, frozen=True, kw_only=True):
    files: int = 0
    """Customers' files not fetched yet, including those in progress."""
    first_due_at: Instant | None = None
    """Of those that are due and not claimed."""


class QueueSurvey(msgspec.Struct, frozen=True, kw_only=True):
    waiting: list[WaitingMessages]
    """The longest queues first."""
    later: int
    """Messages that are not due yet."""
    quotas: list[QuotaUse]
    """The fullest first."""
    closed: list[ClosedGates]
    turns: OpenTurns = OpenTurns()
    media: WaitingFiles = WaitingFiles()

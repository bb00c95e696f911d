"""What an operator looks at: how much waits, for what and how long; what is closed; how much of a quota is used."""

from __future__ import annotations

import msgspec

from waypost.model.ids import OrgId
from waypost.model.time import Instant


class Waiting(msgspec.Struct, frozen=True):
    """Due messages of one org that wait for the same thing."""

    org_id: OrgId
    reason: str
    """What `deferredBy` would say; `none` when they are only waiting for their turn."""
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
    """Turns that are due and that nobody has taken."""
    first_due_at: Instant | None = None
    first_claimed_at: Instant | None = None
    """Of the turns that are held."""


class WaitingFiles(msgspec.Struct, frozen=True, kw_only=True):
    files: int = 0
    """Customers' files that are still to be fetched, or are being fetched."""
    first_due_at: Instant | None = None
    """Of those that nobody has taken, though their time has come."""


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    waiting: list[Waiting]
    """The longest queues first."""
    later: int
    """Messages that wait for their time."""
    quotas: list[QuotaUse]
    """The fullest first."""
    closed: list[ClosedGates]
    turns: OpenTurns = OpenTurns()
    media: WaitingFiles = WaitingFiles()

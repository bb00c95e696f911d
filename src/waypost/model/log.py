"""What is on its way from the Ledger to the Log."""

from __future__ import annotations

import msgspec

from waypost.model.conversation import Entry, Spot
from waypost.model.ids import OrgId
from waypost.model.message import Status
from waypost.model.time import Instant


class Waiting(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An entry that the Log is to have, as it stands now."""

    org_id: OrgId
    entry: Entry
    status: Status | None = None
    """Of the message that went out with it, if one did,"""
    was_read: bool = False
    generation: int = 1


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """An entry on its way into the Log."""

    entry: Entry
    expires_at: Instant | None = None
    """When the Log lets go of it; None: never."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """How far a message of ours came. A later generation wins, within one the higher rank does, whatever comes last."""

    spot: Spot
    status: str
    generation: int
    rank: int
    """0 to 9"""
    expires_at: Instant | None = None

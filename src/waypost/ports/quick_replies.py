"""Quick replies: the answers that an org's people give often, shared by all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from waypost.model.audit import SYSTEM
from waypost.model.ids import OrgId
from waypost.model.quick_reply import QuickReply
from waypost.model.time import Instant


class NoRoom(msgspec.Struct, frozen=True):
    """The org has as many as it may."""

    most: int


class QuickReplies(Protocol):
    """A name means the same in capitals and in small letters. Every change is in the audit trail, in the same
    transaction."""

    async def of(self, org: OrgId) -> Sequence[QuickReply]:
        """The org's, by name regardless of case."""

    async def put(self, reply: QuickReply, most: int) -> QuickReply | NoRoom:
        """Add it, or replace the one of this name; as it is stored then.

        The same name and text again change nothing, not even when and by whom. An org that has `most` already gets no
        new one, however many ask at the same time.
        """

    async def remove(self, org: OrgId, name: str, now: Instant, actor: str = SYSTEM) -> bool:
        """False when the org has none of this name."""

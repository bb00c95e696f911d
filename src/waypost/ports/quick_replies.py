"""Quick replies: the answers that an org's people give often, shared by all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from waypost.model.audit import SYSTEM
from waypost.model.ids import OrgId
from waypost.model.quick_reply import QuickReply
from waypost.model.time import Instant


class NoRoom(msgspec.Struct, frozen=True):
    """The org has as many as it may."""

    most: int


class Taken(msgspec.Struct, frozen=True):
    """Another one has this name."""

    name: str
    """As it is written there."""


class Gone(msgspec.Struct, frozen=True):
    """What was to be replaced was removed, or has another name by now."""

    name: str


Put: TypeAlias = QuickReply | NoRoom | Taken | Gone


class QuickReplies(Protocol):
    """A name means the same in capitals and in small letters. Every change is in the audit trail, in the same
    transaction."""

    async def of(self, org: OrgId) -> Sequence[QuickReply]:
        """The org's, by name regardless of case."""

    async def put(self, reply: QuickReply, most: int, replaces: str | UnsetType | None = UNSET) -> Put:
        """Add it, or replace the one that `replaces` names, in one step; as it is stored then.

        UNSET replaces the one of this name, or adds it. None only adds it: `Taken` when there is one of this name. A
        name replaces that one, which gets this name and text: `Gone` when there is none, `Taken` when the new name is
        that of yet another. What stands already as it is asked for is the answer and no change, not even of when and
        by whom, so that whoever did not hear the answer may ask again. An org that has `most` already gets no new one,
        however many ask at the same time.
        """

    async def remove(self, org: OrgId, name: str, now: Instant, actor: str = SYSTEM) -> bool:
        """False when the org has none of this name."""

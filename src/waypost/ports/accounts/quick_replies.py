"""Quick replies, shared by all users of an org."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from waypost.model.audit import SYSTEM
from waypost.model.ids import OrgId
from waypost.model.quick_reply import QuickReply
from waypost.model.time import Instant


class QuickReplyLimitReached(msgspec.Struct, frozen=True):
    """The org has reached its limit of quick replies."""

    most: int


class QuickReplyNameTaken(msgspec.Struct, frozen=True):
    """Another quick reply has this name."""

    name: str
    """As written in the existing one."""


class QuickReplyGone(msgspec.Struct, frozen=True):
    """The quick reply to replace was removed or renamed."""

    name: str


QuickReplyResult: TypeAlias = QuickReply | QuickReplyLimitReached | QuickReplyNameTaken | QuickReplyGone


class QuickReplies(Protocol):
    """Names are case-insensitive. Every change is audited in the same transaction."""

    async def of(self, org: OrgId) -> Sequence[QuickReply]:
        """The org's quick replies, by name regardless of case."""

    async def put(self, reply: QuickReply, most: int, replaces: str | UnsetType | None = UNSET) -> QuickReplyResult:
        """Add it, or replace the one that `replaces` names, atomically; returns it as stored.

        UNSET replaces the one of this name, or adds it. None only adds it: QuickReplyNameTaken if the name exists. A
        name replaces that one, which gets the new name and text: QuickReplyGone if it does not exist,
        QuickReplyNameTaken if another one has the new name. If the stored reply already matches, it is returned
        unchanged, including when and by whom, so that a retry is safe. An org that has `most` gets no new one, even
        under concurrency.
        """

    async def remove(self, org: OrgId, name: str, now: Instant, actor: str = SYSTEM) -> bool:
        """False if the org has no quick reply of this name."""

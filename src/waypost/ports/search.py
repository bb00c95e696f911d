"""What was said, found by its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NewType, Protocol

import msgspec

from waypost.model.conversation import ContactId, ConversationId, Entry
from waypost.model.ids import OrgId, UserId
from waypost.model.reading import Standing
from waypost.model.time import Instant
from waypost.rules.search import Asked

FoundId = NewType("FoundId", int)
"""Later ones are of later entries."""
NEWEST = FoundId(2**63 - 1)


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked for, by whom: everyone sees the org's customers; chats only who takes part, since they may."""

    org_id: OrgId
    user_id: UserId | None
    """None: a key, which takes part in no chat."""
    asked: Asked
    conversation_id: ConversationId | None = None
    """Only there."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    id: FoundId
    entry: Entry
    contact_id: ContactId | None
    """The customer of the conversation, if it has one."""


class Search(Protocol):
    async def index(self, behind: Sequence[Standing], limit: int) -> Sequence[Standing]:
        """Take what these feeds were told since into the index, `limit` items of it. Each item once, however many
        workers try; what was erased goes, what was moved is found at its new place. Returns what is left to do."""

    async def find(self, wanted: Wanted, before: FoundId, limit: int) -> Sequence[Found]:
        """The newest first. Only what is there and may be seen at this moment; where the index is a moment behind, an
        entry may come that does not say what was asked."""

    async def forget(self, before: Instant, limit: int) -> int:
        """Let go of entries from before, the oldest first: they are not found any more. Returns how many."""

"""Full-text search of messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NewType, Protocol

import msgspec

from waypost.model.consumer import ConsumerPosition
from waypost.model.conversation import ContactId, ConversationId, Entry
from waypost.model.ids import OrgId, UserId
from waypost.model.time import Instant
from waypost.rules.conversations.search import SearchTerms

FoundId = NewType("FoundId", int)
"""Later entries have higher ids."""
NEWEST = FoundId(2**63 - 1)


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A search and its caller: all users see the org's customers; only members see a chat, as far as they may."""

    org_id: OrgId
    user_id: UserId | None
    """None for a key, which is not a member of any chat."""
    asked: SearchTerms
    conversation_id: ConversationId | None = None
    """Search only this conversation."""


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    id: FoundId
    entry: Entry
    contact_id: ContactId | None
    """The customer of the conversation, if it has one."""


class Search(Protocol):
    async def index(self, behind: Sequence[ConsumerPosition], limit: int) -> Sequence[ConsumerPosition]:
        """Index the next `limit` items of these feeds. Each item is indexed once, however many workers run; erased
        entries are removed, moved entries are found at their new place. Returns what is left to do."""

    async def find(self, wanted: SearchQuery, before: FoundId, limit: int) -> Sequence[SearchHit]:
        """Hits, newest first, limited to entries that exist and that the caller may see now; while the index lags, an
        entry may be returned that does not match."""

    async def forget(self, before: Instant, limit: int) -> int:
        """Remove entries from before then from the index, oldest first. Returns how many."""

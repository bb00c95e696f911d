"""Reading conversations and the people in them; every read is bound to one org."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from waypost.model.conversation import Contact, ContactId, Conversation, ConversationId, Entry, FeedItem, Lane, Position
from waypost.model.ids import OrgId
from waypost.model.reading import Reader
from waypost.model.time import Instant


class Conversations(Protocol):
    async def get(self, org: OrgId, conversation: ConversationId) -> Conversation | None: ...

    async def some(self, org: OrgId, conversations: Sequence[ConversationId]) -> Sequence[Conversation]:
        """Those of them that are this org's, in any order."""

    async def contacts(self, org: OrgId, contacts: Sequence[ContactId]) -> Sequence[Contact]:
        """Those of them that are this org's, in any order."""

    async def at(self, org: OrgId, address: str) -> Sequence[Conversation]:
        """Of whoever is known by this address (`phone:+49…`, `user:DE.123…`), one per number."""

    async def lane(self, conversation: ConversationId) -> Lane | None: ...

    async def contact(self, org: OrgId, contact: ContactId) -> Contact | None: ...

    async def entries(self, conversation: ConversationId, before: Position, limit: int) -> Sequence[Entry]:
        """The latest before a position, newest first."""

    async def forget_arrivals(self, before: Instant, limit: int) -> int:
        """Let go of what only finds doubles, the oldest first; the entries stay. Returns how many."""


class Feeds(Protocol):
    def on_moved(self, told: Callable[[Mapping[str, int]], None]) -> None:
        """Call this, in the loop, after every commit of this process that added to feeds: where those stand now."""

    async def head(self, feed: str) -> int: ...

    async def after(self, feed: str, seq: int, limit: int) -> Sequence[FeedItem]:
        """The items after a number, in order, without a gap; who asks for what is forgotten gets a later one first."""

    async def forget(self, before: Instant, limit: int, unless_behind: Reader | None = None) -> int:
        """Let go of items from before then, the oldest first; the last of a feed stays, and so does what this reader
        has not read. Returns how many.

        Of each feed from its beginning, without a gap: what an item was told before by a clock that was ahead is kept
        with that item.
        """

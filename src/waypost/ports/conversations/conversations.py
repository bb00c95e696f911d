"""Reads of conversations and contacts, and the feeds of changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from waypost.model.consumer import Consumer
from waypost.model.conversation import (
    Contact,
    ContactId,
    Conversation,
    ConversationId,
    Entry,
    FeedItem,
    Position,
    TurnState,
)
from waypost.model.ids import OrgId
from waypost.model.time import Instant


class Conversations(Protocol):
    async def get(self, org: OrgId, conversation: ConversationId) -> Conversation | None: ...

    async def some(self, org: OrgId, conversations: Sequence[ConversationId]) -> Sequence[Conversation]:
        """Those of them that are this org's, in any order."""

    async def contacts(self, org: OrgId, contacts: Sequence[ContactId]) -> Sequence[Contact]:
        """Those of them that are this org's, in any order."""

    async def at(self, org: OrgId, address: str) -> Sequence[Conversation]:
        """The conversations of the contact with this address (`phone:+49…`, `user:DE.123…`), one per number."""

    async def turn_state(self, conversation: ConversationId) -> TurnState | None: ...

    async def contact(self, org: OrgId, contact: ContactId) -> Contact | None: ...

    async def entries(self, conversation: ConversationId, before: Position, limit: int) -> Sequence[Entry]:
        """The latest entries before a position, newest first."""

    async def prune_inbound(self, before: Instant, limit: int) -> int:
        """Prune the records that detect duplicates, oldest first; the entries stay. Returns how many."""


class Feeds(Protocol):
    def on_moved(self, listener: Callable[[Mapping[str, int]], None]) -> None:
        """Call `listener` in the event loop, with the new heads, after each local commit that adds to feeds."""

    async def head(self, feed: str) -> int: ...

    async def after(self, feed: str, seq: int, limit: int) -> Sequence[FeedItem]:
        """The items after a seq, in order, without a gap; if the first ones were pruned, it starts with a later one."""

    async def forget(self, before: Instant, limit: int, unless_behind: Consumer | None = None) -> int:
        """Prune items from before then, oldest first; the last item of a feed stays, and so do items that this
        consumer has not read. Returns how many.

        Each feed is pruned from its start, without a gap: an old item behind one with a later time, from a clock that
        was ahead, is kept with it.
        """

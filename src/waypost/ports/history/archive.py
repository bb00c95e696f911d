"""Archiving from the Ledger to history: entries to archive, and bodies that are then removed from the Ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from waypost.model.chat import FeedName
from waypost.model.consumer import FeedRange
from waypost.model.conversation import ConversationId, Position
from waypost.model.history import PendingArchiveEntry
from waypost.model.time import Instant


class ArchiveItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A feed item to archive."""

    feed: FeedName
    seq: int
    at: Instant
    kind: str
    """`message`, `deleted`, `status`, or `joined`: the moved entries of the conversation must be archived."""
    conversation_id: ConversationId
    waiting: PendingArchiveEntry | None
    """The entry. None if it has moved since, which a later item covers, or if another feed archives it: an entry in
    several users' own feeds is archived from its sender's."""


class PrunedBodies(msgspec.Struct, frozen=True):
    bodies: int
    more: bool
    """There is more to do now."""


class ArchiveFeed(Protocol):
    async def entries(self, ranges: Sequence[FeedRange]) -> Sequence[ArchiveItem]:
        """The items to archive in these ranges, feed by feed, in order."""

    async def moved(self, conversation: ConversationId, after: Position, limit: int) -> Sequence[PendingArchiveEntry]:
        """The next entries, by position, that were moved within or into a conversation."""

    async def confirm(self, ranges: Sequence[FeedRange], now: Instant) -> Sequence[FeedRange]:
        """Record that history has all of these ranges. Returns those that began at the consumer's position; the others
        were confirmed by another worker, and do not change."""

    async def empty(self, before: Instant, limit: int, again: Instant, *, spare_waiting: bool) -> PrunedBodies:
        """Remove message bodies from the Ledger, in up to `limit` ranges that were confirmed before then, oldest first,
        as far as the search index has read their feeds. Entries that were erased or moved since, or are larger than
        `rules.history.archive.LARGEST_BODY`, keep theirs: history does not have it. With `spare_waiting`, messages
        that the bot has yet to answer keep theirs, and the range is checked again at `again`."""

    async def away(self, after: ConversationId, upto: ConversationId, share: float) -> Sequence[PendingArchiveEntry]:
        """For each conversation with an id above `after`, up to `upto`: the entry at this fraction of it, if the body
        is only in history. The invariant checks pass another fraction each time."""

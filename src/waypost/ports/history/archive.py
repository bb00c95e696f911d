"""Archiving from the Ledger to history: entries to archive, and bodies that are then removed from the Ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from waypost.model.chat import FeedName
from waypost.model.consumer import FeedRange
from waypost.model.conversation import ArchiveKey, ConversationId, Position
from waypost.model.history import ArchivedBody, ConfirmedRange, PendingArchiveEntry
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


class ArchiveFeed(Protocol):
    async def entries(self, ranges: Sequence[FeedRange]) -> Sequence[ArchiveItem]:
        """The items to archive in these ranges, feed by feed, in order."""

    async def moved(self, conversation: ConversationId, after: Position, limit: int) -> Sequence[PendingArchiveEntry]:
        """The next entries, by position, that were moved within or into a conversation."""

    async def confirm(self, ranges: Sequence[FeedRange], now: Instant) -> Sequence[FeedRange]:
        """Record that history has all of these ranges. Returns those that began at the consumer's position; the others
        were confirmed by another worker, and do not change."""

    async def confirm_again(self, ranges: Sequence[FeedRange], now: Instant) -> None:
        """Record that ranges which were confirmed before count from now on; a range that was emptied stays so."""

    async def confirmed(self, since: Instant, upto: Instant, limit: int) -> Sequence[ConfirmedRange]:
        """Ranges that were confirmed between these times, both included, and not emptied yet; oldest first."""

    async def bodies(self, ranges: Sequence[FeedRange]) -> Sequence[ArchivedBody]:
        """The messages of these ranges that history should have: those with a body in the Ledger, and those whose
        erasure is in the range. Without those that were moved since and those larger than
        `rules.history.archive.LARGEST_BODY`: history may not have them, and they keep their bodies."""

    async def empty(self, verified: Mapping[ConfirmedRange, Sequence[ArchiveKey]]) -> int:
        """Remove these bodies from the Ledger and forget their ranges, in one transaction; returns how many it removed.
        A range that was confirmed again since `confirmed` returned it stays whole: history may lose it once more. An
        entry that was erased or moved since `bodies` returned it does not change."""

    async def away_after(
        self, after: tuple[ConversationId, Position], limit: int
    ) -> tuple[Sequence[PendingArchiveEntry], tuple[ConversationId, Position] | None]:
        """Of the next `limit` entries after a place, by conversation and position, those whose body is only in history;
        and the place to continue after, or None at the end."""

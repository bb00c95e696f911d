"""Entries on their way from the Ledger to history."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from waypost.model.chat import FeedName
from waypost.model.consumer import FeedRange
from waypost.model.conversation import ArchiveKey, ConversationId, Entry
from waypost.model.ids import OrgId
from waypost.model.message import Status
from waypost.model.time import Instant


class PendingArchiveEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An entry to archive, in its current state."""

    org_id: OrgId
    entry: Entry
    status: Status | None = None
    """Of its outbound message, if it has one."""
    was_read: bool = False
    generation: int = 1


class ArchiveEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry to append to history."""

    entry: Entry
    expires_at: Instant | None = None
    """When history deletes it; None: never."""


class ArchivedStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The delivery status of an entry. A later generation wins; within one, the higher rank, in any order."""

    archive_key: ArchiveKey
    status: str
    generation: int
    rank: int
    """0 to 9"""
    expires_at: Instant | None = None


class StoredEntry(NamedTuple):
    """An entry that history has, without its body."""

    conversation_id: ConversationId
    id_at: Instant
    """With the conversation: the parts of an archive key that never change."""
    erased: bool


class ConfirmedRange(NamedTuple):
    """A range of a feed that history confirmed, and whose bodies are still in the Ledger."""

    range: FeedRange
    at: Instant
    """When it was confirmed."""
    indexed: bool
    """Whether the search index has read it."""


class ArchivedBody(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message of a confirmed range."""

    feed: FeedName
    seq: int
    """Of the feed item that it was archived from."""
    key: ArchiveKey
    erased: bool
    unanswered: bool
    """The bot has yet to answer it."""

"""What of a confirmed range the history store does not have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from waypost.model.consumer import FeedRange
from waypost.model.conversation import ArchiveKey, ConversationId
from waypost.model.history import ArchivedBody, StoredEntry
from waypost.model.time import Instant
from waypost.rules.history.archive import ArchiveBatch

RangeBodies: TypeAlias = Mapping[FeedRange, Sequence[ArchivedBody]]
EntryKey: TypeAlias = tuple[ConversationId, Instant]
"""The parts of an archive key that never change."""


def by_range(ranges: Sequence[FeedRange], bodies: Iterable[ArchivedBody]) -> dict[FeedRange, list[ArchivedBody]]:
    """Every range, with the bodies of its items."""
    found: dict[FeedRange, list[ArchivedBody]] = {one: [] for one in ranges}
    of_feed: dict[str, list[FeedRange]] = {}
    for one in ranges:
        of_feed.setdefault(one.feed, []).append(one)
    for body in bodies:
        for one in of_feed[body.feed]:
            if one.since < body.seq <= one.upto:
                found[one].append(body)
    return found


def unanswered(bodies: RangeBodies) -> set[FeedRange]:
    """The ranges with messages that the bot has yet to answer."""
    return {one for one, found in bodies.items() if any(body.unanswered for body in found)}


def missing(bodies: RangeBodies, stored: Iterable[StoredEntry]) -> dict[FeedRange, list[ArchivedBody]]:
    """What is not stored, or is erased in the Ledger only, by range; complete ranges are left out."""
    here = {(one.conversation_id, one.id_at): one.erased for one in stored}
    erased = {key for key, is_erased in here.items() if is_erased}

    def is_lost(body: ArchivedBody) -> bool:
        return _key(body.key) not in (erased if body.erased else here)

    lost = {one: [body for body in found if is_lost(body)] for one, found in bodies.items()}
    return {one: found for one, found in lost.items() if found}


def count_kept(lost: Iterable[ArchivedBody], batch: ArchiveBatch) -> int:
    """How many of these the history store should have, by the batch that would archive them now."""
    wanted = {_key(line.entry.archive_key) for line in batch.lines}
    wanted |= {_key(key) for keys in batch.erased.values() for key in keys}
    return len({_key(body.key) for body in lost} & wanted)


def _key(key: ArchiveKey) -> EntryKey:
    return key.conversation_id, key.id_at

"""What the history store must have before a body is pruned."""

from __future__ import annotations

from waypost.model.chat import FeedName
from waypost.model.consumer import FeedRange
from waypost.model.conversation import ArchiveKey, ConversationId, Entry, Position
from waypost.model.history import ArchivedBody, ArchiveEntry, StoredEntry
from waypost.model.time import Instant
from waypost.rules.history import verification
from waypost.rules.history.archive import ArchiveBatch

HERE, FEED, OTHER = ConversationId(1), FeedName("team:acme"), FeedName("user:ann")
FIRST, SECOND, THIRD = FeedRange(FEED, 0, 2), FeedRange(FEED, 2, 3), FeedRange(OTHER, 0, 9)


def body(seq: int, *, erased: bool = False, unanswered: bool = False) -> ArchivedBody:
    key = ArchiveKey(HERE, Position(seq), Instant(seq))
    return ArchivedBody(feed=FEED, seq=seq, key=key, erased=erased, unanswered=unanswered)


def stored(seq: int, *, erased: bool = False) -> StoredEntry:
    return StoredEntry(HERE, Instant(seq), erased)


def test_each_range_gets_the_bodies_of_its_items_and_an_empty_one_none() -> None:
    found = verification.by_range([FIRST, SECOND, THIRD], [body(1), body(2), body(3)])
    assert found == {FIRST: [body(1), body(2)], SECOND: [body(3)], THIRD: []}


def test_a_range_is_incomplete_if_one_body_is_not_stored() -> None:
    bodies = verification.by_range([FIRST, SECOND, THIRD], [body(1), body(2), body(3)])
    assert verification.missing(bodies, [stored(1), stored(3)]) == {FIRST: [body(2)]}
    assert verification.missing(bodies, [stored(1), stored(2), stored(3)]) == {}


def test_an_erasure_that_is_not_stored_is_missing_and_so_is_one_without_its_message() -> None:
    bodies = {FIRST: [body(1, erased=True), body(2, erased=True)]}
    assert verification.missing(bodies, [stored(1)]) == bodies
    assert verification.missing(bodies, [stored(1, erased=True), stored(2, erased=True)]) == {}


def test_a_message_that_was_erased_since_is_not_missing() -> None:
    assert verification.missing({FIRST: [body(1)]}, [stored(1, erased=True)]) == {}


def test_ranges_that_the_bot_has_yet_to_answer_are_known() -> None:
    bodies = {FIRST: [body(1), body(2, unanswered=True)], SECOND: [body(3)]}
    assert verification.unanswered(bodies) == {FIRST}


def test_only_what_history_would_keep_counts_as_lost() -> None:
    entry = Entry(
        conversation_id=HERE, position=Position(1), id_at=Instant(1), at=Instant(1), sender="bot", type="text", body="x"
    )
    batch = ArchiveBatch([ArchiveEntry(entry=entry)], {Instant(5): [body(2).key]}, [], 0)
    assert verification.count_kept([body(1), body(2, erased=True), body(3)], batch) == 2
    assert verification.count_kept([body(3)], batch) == 0

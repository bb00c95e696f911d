"""Ids, buckets and write times of the history store on Cassandra, made of an entry's archive key alone."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.cassandra import message_keys
from waypost.adapters.cassandra.message_keys import (
    BUCKET,
    bucket_of,
    listed_until,
    listing_time,
    moment_of,
    timeuuid,
    ttl,
)
from waypost.adapters.cassandra.statements import parse
from waypost.model.conversation import ArchiveKey, ConversationId, Position
from waypost.model.time import Instant, Span, days, from_unix, seconds
from waypost.ports.history.history import ArchivedStatus

NOW = from_unix(1_790_000_000)
LATEST = from_unix(2**31 - 2)
MOMENTS = st.integers(0, 4_000_000_000_000_000).map(Instant)


@given(MOMENTS)
def test_an_id_is_a_uuid_of_its_time_and_tells_it_again(moment: Instant) -> None:
    found = UUID(timeuuid(moment))
    assert (str(found), found.version, moment_of(timeuuid(moment))) == (timeuuid(moment), 1, moment)
    assert (found.time - 0x01B21DD213814000) / 10 == moment


@given(MOMENTS, st.integers(1, 10**12))
def test_later_messages_have_greater_ids_and_no_earlier_bucket(moment: Instant, by: int) -> None:
    later = Instant(moment + by)
    assert UUID(timeuuid(moment)).time < UUID(timeuuid(later)).time
    assert bucket_of(moment) <= bucket_of(later) <= bucket_of(moment) + by // BUCKET + 1


def a_mark(generation: int, rank: int) -> ArchivedStatus:
    return ArchivedStatus(archive_key=SPOT, status="sent", generation=generation, rank=rank)


SPOT = ArchiveKey(ConversationId(7), Position(1), NOW)


def test_an_erasing_is_later_than_the_append_and_a_status_grows_with_generation_then_rank() -> None:
    assert message_keys.erase_time(SPOT) > message_keys.put_time(SPOT)
    times = [message_keys.settle_time(a_mark(generation, rank)) for generation in range(1, 5) for rank in range(10)]
    assert times == sorted(set(times))
    assert times[-1] < NOW + seconds(1), "none is in the future: ScyllaDB refuses that, and files are dropped by time"


@pytest.mark.parametrize(
    ("expires_at", "left"),
    [
        (None, None),
        (Instant(NOW + 1), 1),
        (Instant(NOW + seconds(1)), 1),
        (Instant(NOW + seconds(1.5)), 2),
        (Instant(NOW + days(1)), 86_400),
        (Instant(NOW - 1), 1),
        (LATEST, (LATEST - NOW) // 1_000_000),
        (Instant(LATEST + 1), None),
    ],
)
def test_a_ttl_is_what_is_left_in_whole_seconds(expires_at: Instant | None, left: int | None) -> None:
    assert ttl(expires_at, NOW) == left


@given(st.integers(0, LATEST + days(100)).map(Instant), st.integers(0, days(4000)))
def test_of_two_listings_the_longer_one_is_the_later_write(one: Instant, by: int) -> None:
    other = Instant(one + by)
    short, long = listed_until(one), listed_until(other)
    assert listing_time(short) <= listing_time(long) <= listing_time(None) < NOW
    assert short is None or short >= one
    assert short is None or short - one <= 2 * Span(BUCKET)


def test_a_statement_is_named_once_and_keeps_its_comment() -> None:
    (one, other) = parse("-- name: one\n-- why\nSELECT 1\n\n-- name: other (idempotent)\nSELECT 2\n").values()
    assert (one.text, one.idempotent, other.idempotent) == ("-- why\nSELECT 1", False, True)
    with pytest.raises(ValueError, match="one is defined twice"):
        parse("-- name: one\nSELECT 1\n-- name: one\nSELECT 2\n")

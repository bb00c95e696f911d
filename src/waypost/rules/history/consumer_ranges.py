"""The next ranges that a feed consumer reads, and its lag afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from waypost.model.consumer import ConsumerPosition, FeedRange


def stretches(behind: Iterable[ConsumerPosition], limit: int) -> list[FeedRange]:
    """The next ranges, up to `limit` items in all, by feed name."""
    found = []
    for one in sorted(behind, key=lambda one: one.feed):
        upto = min(one.head, one.read + limit)
        if one.read < upto:
            found.append(FeedRange(one.feed, one.read, upto))
            limit -= upto - one.read
    return found


def remaining_ranges(behind: Iterable[ConsumerPosition], done: Sequence[FeedRange]) -> list[ConsumerPosition]:
    moved = {done_range.feed: done_range.upto for done_range in done}
    after = [replace(one, read=moved.get(one.feed, one.read)) for one in behind]
    return [one for one in after if one.behind]

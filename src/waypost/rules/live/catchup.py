"""Where a device starts in each feed, and the merge of a page with live items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from waypost.model.chat import FeedName, FollowedFeed


class Sequenced(Protocol):
    @property
    def seq(self) -> int: ...


N = TypeVar("N", bound=Sequenced)


class MergedPage(msgspec.Struct, Generic[N], frozen=True):
    items: Sequence[N]
    """The items after the cursor, in order, each once, up to the first gap."""
    last: int
    """The cursor after these items."""
    gap: bool
    """Items are missing before later known ones: read again from `last`."""


def merge(after: int, page: Iterable[N], live: Iterable[N]) -> MergedPage[N]:
    """The next items for a cursor, from a page of the feed and the live items that came during the read."""
    known = {item.seq: item for part in (live, page) for item in part if item.seq > after}
    items: list[N] = []
    last = after
    while last + 1 in known:
        last += 1
        items.append(known[last])
    return MergedPage(items, last, gap=len(items) < len(known))


class CatchUpStart(msgspec.Struct, frozen=True):
    cursors: Mapping[FeedName, int]
    lost: str | None
    """Why the device cannot continue; it must reload everything and starts at the heads."""


class FeedBounds(msgspec.Struct, frozen=True, kw_only=True):
    """The stored range of a feed."""

    head: int
    oldest: int | None
    """The first stored item after the device's cursor; None if there is none."""


def start(
    following: Sequence[FollowedFeed],
    feeds: Mapping[FeedName, FeedBounds],
    given: Mapping[str, int],
    stored: Mapping[FeedName, int],
) -> CatchUpStart:
    """Start from the device's own cursor, else the acknowledged one, else where the feed begins for it."""
    cursors = {}
    for each in following:
        known = feeds[each.feed]
        cursor = given.get(each.feed, stored.get(each.feed, each.since))
        cursor = max(cursor, each.since)
        if cursor > known.head:
            return _lost(feeds, f"{each.feed} ends before {cursor}")
        if cursor < known.head and (known.oldest is None or known.oldest > cursor + 1):
            return _lost(feeds, f"{each.feed} is kept only from {known.oldest}")
        cursors[each.feed] = cursor
    return CatchUpStart(cursors, None)


def _lost(feeds: Mapping[FeedName, FeedBounds], reason: str) -> CatchUpStart:
    return CatchUpStart({feed: known.head for feed, known in feeds.items()}, reason)

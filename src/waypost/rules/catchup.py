"""Where a device begins in each feed, and how a page that was read meets what came live meanwhile. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from waypost.model.chat import FeedName, Following


class Numbered(Protocol):
    @property
    def seq(self) -> int: ...


N = TypeVar("N", bound=Numbered)


class Merged(msgspec.Struct, Generic[N], frozen=True):
    items: Sequence[N]
    """After the cursor, in order, each once, as far as they follow each other."""
    last: int
    """Where the device stands with them."""
    gap: bool
    """Something is missing between these and what is known to come later: read again from `last`."""


def merge(after: int, page: Iterable[N], live: Iterable[N]) -> Merged[N]:
    """What a device that stands at `after` gets from a page of the feed and from what came while that was read."""
    known = {item.seq: item for part in (live, page) for item in part if item.seq > after}
    items: list[N] = []
    last = after
    while last + 1 in known:
        last += 1
        items.append(known[last])
    return Merged(items, last, gap=len(items) < len(known))


class Start(msgspec.Struct, frozen=True):
    cursors: Mapping[FeedName, int]
    lost: str | None
    """Why what the device has cannot be continued; it must read everything anew, and goes on from the heads."""


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to a feed."""

    head: int
    oldest: int | None
    """The first item after where the device stands that is kept; None when there is none."""


def start(
    following: Sequence[Following],
    feeds: Mapping[FeedName, Known],
    given: Mapping[str, int],
    stored: Mapping[FeedName, int],
) -> Start:
    """From what the device says, else from what it acked, else from where the feed became its own."""
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
    return Start(cursors, None)


def _lost(feeds: Mapping[FeedName, Known], reason: str) -> Start:
    return Start({feed: known.head for feed, known in feeds.items()}, reason)

"""Reads feeds as they grow, in order and without gaps, once for all followers in this process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

import structlog

from waypost.flow.conversations import archived_bodies, failure_text
from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.chat import FeedName, LoadedItem
from waypost.model.time import Span, as_seconds, seconds
from waypost.ports.platform.failure import LedgerError
from waypost.ports.platform.hints import FEED

log = structlog.get_logger("follow")

PAGE = 500
"""Items per read."""
LOOK_EVERY: Span = seconds(2)
"""How often all feeds are read without a hint."""

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Follower(Protocol[T_contra]):
    def take(self, feed: FeedName, last: int, news: T_contra) -> None:
        """Takes the next items of a feed, up to `last`, without a gap; called on the loop and must not block."""


class Tail(Generic[T]):
    """A followed feed: its followers have everything up to `last`."""

    __slots__ = ("followers", "last")

    def __init__(self, last: int) -> None:
        self.last = last
        self.followers: dict[Follower[T], None] = {}


class Tails(Generic[T]):
    """`render` turns items into what the followers get, once for all of them."""

    def __init__(self, world: World, render: Callable[[Sequence[LoadedItem]], T]) -> None:
        self._world = world
        self._render = render
        self._tails: dict[FeedName, Tail[T]] = {}
        self._changed: dict[FeedName, None] = {}
        self.trouble: str | None = None
        """Why feeds cannot be read at the moment, or None."""

    def follow(self, feed: FeedName, head: int, follower: Follower[T]) -> int:
        """Adds a follower, who gets all items after the returned seq; `head` is the feed's known head."""
        tail = self._tails.get(feed)
        if tail is None:
            tail = self._tails[feed] = Tail(head)
        tail.followers[follower] = None
        return tail.last

    def leave(self, feed: FeedName, follower: Follower[T]) -> None:
        tail = self._tails.get(feed)
        if tail is None:
            return
        tail.followers.pop(follower, None)
        if not tail.followers:
            del self._tails[feed]

    def last(self, feed: FeedName) -> int:
        """The last seq that the followers of a feed have; 0 without followers."""
        tail = self._tails.get(feed)
        return 0 if tail is None else tail.last

    def followers(self, feed: FeedName) -> Collection[Follower[T]]:
        tail = self._tails.get(feed)
        return () if tail is None else list(tail.followers)

    async def run(self) -> None:
        """Runs forever, woken by hints and periodically."""
        clock = self._world.clock
        looked_at = clock.monotonic()
        with self._world.hints.listen(FEED) as listener:
            while True:
                hinted = await listener.wait(LOOK_EVERY)
                self._changed.update({FeedName(name): None for name in listener.named()})
                # Hints for other feeds may keep coming, so the time is checked too.
                if not hinted or clock.monotonic() - looked_at >= as_seconds(LOOK_EVERY):
                    looked_at = clock.monotonic()
                    self._changed.update(dict.fromkeys(self._tails))
                try:
                    await self.pump()
                    self.trouble = None
                except LedgerError as failure:
                    self.trouble = str(failure)
                    log.warning("feeds_not_read", error=str(failure))
                    await self._world.clock.sleep(PAUSE_AFTER_TROUBLE)

    async def pump(self) -> None:
        """Passes all new items of the changed feeds to their followers."""
        while wanted := {feed: self._tails[feed].last for feed in self._changed if feed in self._tails}:
            asked = dict(self._changed)
            found = await self._world.ledger.device_feeds.items(wanted, PAGE)
            whole, stuck = await archived_bodies.load_item_bodies(found, self._world.history)
            for feed, items in _by_feed(await failure_text.add_failure_text(whole, self._world)).items():
                self._pass_on(feed, items)
            for feed in stuck:  # read again with the next periodic read
                self._changed.pop(feed, None)
            if len(found) < PAGE:
                for feed in asked:  # a feed that changed meanwhile was read, or wakes us again
                    self._changed.pop(feed, None)
                return
        self._changed.clear()

    def _pass_on(self, feed: FeedName, items: Sequence[LoadedItem]) -> None:
        tail = self._tails.get(feed)
        fresh = [item for item in items if tail is not None and item.item.seq > tail.last]
        if tail is None or not fresh:
            return
        tail.last = fresh[-1].item.seq
        news = self._render(fresh)
        for follower in list(tail.followers):
            follower.take(feed, tail.last, news)


def _by_feed(found: Sequence[LoadedItem]) -> Mapping[FeedName, list[LoadedItem]]:
    feeds: dict[FeedName, list[LoadedItem]] = {}
    for item in found:
        feeds.setdefault(FeedName(item.item.feed), []).append(item)
    return feeds

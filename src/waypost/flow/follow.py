"""Feeds as they grow: read once for everybody in this process who follows them, in order and without a gap."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

import structlog

from waypost.flow import bodies, explain
from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.chat import FeedName, Told
from waypost.model.time import Span, as_seconds, seconds
from waypost.ports.failure import LedgerError
from waypost.ports.hints import FEED

log = structlog.get_logger("follow")

PAGE = 500
"""Items read at once."""
LOOK_EVERY: Span = seconds(2)
"""When no hint comes: a lost one costs no more than this."""

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Follower(Protocol[T_contra]):
    def take(self, feed: FeedName, last: int, news: T_contra) -> None:
        """The items of a feed up to `last`, following those before without a gap; called on the loop, never waits."""


class Tail(Generic[T]):
    """The end of a feed: everything up to `last` was handed to whoever follows it."""

    __slots__ = ("followers", "last")

    def __init__(self, last: int) -> None:
        self.last = last
        self.followers: dict[Follower[T], None] = {}


class Tails(Generic[T]):
    """`render` makes of a run of items what followers are handed: once, however many they are."""

    def __init__(self, world: World, render: Callable[[Sequence[Told]], T]) -> None:
        self._world = world
        self._render = render
        self._tails: dict[FeedName, Tail[T]] = {}
        self._stirred: dict[FeedName, None] = {}
        self.trouble: str | None = None
        """Why nothing can be read just now."""

    def follow(self, feed: FeedName, head: int, follower: Follower[T]) -> int:
        """Hand over whatever comes after the number that this returns; `head` is where the feed was seen to stand."""
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
        """Up to where a feed that somebody follows was handed on."""
        tail = self._tails.get(feed)
        return 0 if tail is None else tail.last

    def followers(self, feed: FeedName) -> Collection[Follower[T]]:
        tail = self._tails.get(feed)
        return () if tail is None else list(tail.followers)

    async def run(self) -> None:
        """For ever: woken by hints, and by the clock where they are lost."""
        clock = self._world.clock
        looked_at = clock.monotonic()
        with self._world.hints.listen(FEED) as ear:
            while True:
                heard = await ear.wait(LOOK_EVERY)
                self._stirred.update({FeedName(name): None for name in ear.named()})
                if not heard or clock.monotonic() - looked_at >= as_seconds(
                    LOOK_EVERY
                ):  # others' hints may keep coming
                    looked_at = clock.monotonic()
                    self._stirred.update(dict.fromkeys(self._tails))
                try:
                    await self.pump()
                    self.trouble = None
                except LedgerError as failure:
                    self.trouble = str(failure)
                    log.warning("feeds_not_read", error=str(failure))
                    await self._world.clock.sleep(PAUSE_AFTER_TROUBLE)

    async def pump(self) -> None:
        """Hand on everything that the feeds which stirred have by now."""
        while wanted := {feed: self._tails[feed].last for feed in self._stirred if feed in self._tails}:
            asked = dict(self._stirred)
            found = await self._world.ledger.follows.told(wanted, PAGE)
            whole, stuck = await bodies.told(found, self._world.log)
            for feed, items in _by_feed(await explain.told(whole, self._world)).items():
                self._hand_on(feed, items)
            for feed in stuck:  # looked at again with all the others
                self._stirred.pop(feed, None)
            if len(found) < PAGE:
                for feed in asked:  # what stirred again meanwhile was read, or wakes us again
                    self._stirred.pop(feed, None)
                return
        self._stirred.clear()

    def _hand_on(self, feed: FeedName, items: Sequence[Told]) -> None:
        tail = self._tails.get(feed)
        fresh = [told for told in items if tail is not None and told.item.seq > tail.last]
        if tail is None or not fresh:
            return
        tail.last = fresh[-1].item.seq
        news = self._render(fresh)
        for follower in list(tail.followers):
            follower.take(feed, tail.last, news)


def _by_feed(found: Sequence[Told]) -> Mapping[FeedName, list[Told]]:
    feeds: dict[FeedName, list[Told]] = {}
    for told in found:
        feeds.setdefault(FeedName(told.item.feed), []).append(told)
    return feeds

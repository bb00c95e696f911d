"""Feed consumers: their positions, and the range to read next."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec

from waypost.model.chat import FeedName


class Consumer(StrEnum):
    SEARCH = "search"
    """Adds messages to the search index."""
    ARCHIVE = "log"
    """Archives messages to history."""


class ConsumerPosition(msgspec.Struct, frozen=True):
    """A feed's head, and how far a consumer has read it."""

    feed: FeedName
    head: int
    read: int

    @property
    def behind(self) -> bool:
        return self.read < self.head


class FeedRange(NamedTuple):
    """The items of a feed after `since`, up to and including `upto`."""

    feed: FeedName
    since: int
    upto: int

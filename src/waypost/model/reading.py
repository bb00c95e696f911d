"""Reading behind the feeds: who does, up to where they are, and which part comes next."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec

from waypost.model.chat import FeedName


class Reader(StrEnum):
    SEARCH = "search"
    """Takes what was said into the index of words."""
    LOG = "log"
    """Hands it over to the Log."""


class Standing(msgspec.Struct, frozen=True):
    """A feed, and up to where somebody has read it."""

    feed: FeedName
    head: int
    read: int

    @property
    def behind(self) -> bool:
        return self.read < self.head


class Stretch(NamedTuple):
    """The items of a feed after a number, up to another."""

    feed: FeedName
    since: int
    upto: int

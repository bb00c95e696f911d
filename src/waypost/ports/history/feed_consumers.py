"""Positions of consumers in feeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from waypost.model.chat import FeedName
from waypost.model.consumer import Consumer, ConsumerPosition


class FeedConsumers(Protocol):
    """A consumer's own port, Search or ArchiveFeed, moves its position together with its work."""

    async def standing(self, reader: Consumer, after: str, limit: int) -> Sequence[ConsumerPosition]:
        """Positions in feeds, by feed name, with or without lag; continue after the last name for the rest."""

    async def position_of(self, reader: Consumer, feeds: Sequence[FeedName]) -> Sequence[ConsumerPosition]:
        """The positions in those feeds that exist."""

"""Up to where each of those who read behind the feeds has read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from waypost.model.chat import FeedName
from waypost.model.reading import Reader, Standing


class Behind(Protocol):
    """A reader's place in a feed moves with what the reader does, by the reader's own port: see Search and HandOver."""

    async def standing(self, reader: Reader, after: str, limit: int) -> Sequence[Standing]:
        """Feeds in the order of their names, behind or not: whoever goes on from the last name has seen all."""

    async def standing_of(self, reader: Reader, feeds: Sequence[FeedName]) -> Sequence[Standing]:
        """Of those that there are."""

"""Positions of feed consumers, in SQL.

Several workers may read the same items; the one that first advances the consumer's position has processed them.
"""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Plan, each
from waypost.model.chat import FeedName
from waypost.model.consumer import Consumer, ConsumerPosition, FeedRange


class SqlFeedConsumers:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def standing(self, consumer: Consumer, after: str, limit: int) -> Sequence[ConsumerPosition]:
        return [
            ConsumerPosition(*row) for row in await self._engine.read("feeds_standing", after, limit, consumer.value)
        ]

    async def position_of(self, consumer: Consumer, feeds: Sequence[FeedName]) -> Sequence[ConsumerPosition]:
        names = sorted(set(feeds))
        found = await self._engine.read("feeds_standing_of", names, consumer.value) if names else []
        return [ConsumerPosition(*row) for row in found]


def advance(consumer: Consumer, ranges: Sequence[FeedRange]) -> Plan[list[FeedRange]]:
    """Runs first in a transaction; returns the ranges that no other worker has taken."""
    new = [(consumer.value, range_.feed) for range_ in ranges if range_.since == 0]
    yield from each("feed_reader_ensure", new)
    moved = yield from each("feed_reader_move", [(consumer.value, *range_) for range_ in ranges])
    ours = {row[0] for row in moved}
    return [range_ for range_ in ranges if range_.feed in ours]

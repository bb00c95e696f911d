"""Up to where somebody has read each feed, in SQL.

Several workers may read the same items; the one that moves the reader's place from where it read has taken them.
"""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Plan, each
from waypost.model.chat import FeedName
from waypost.model.reading import Reader, Standing, Stretch


class SqlBehind:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def standing(self, reader: Reader, after: str, limit: int) -> Sequence[Standing]:
        return [Standing(*row) for row in await self._engine.read("feeds_standing", after, limit, reader.value)]

    async def standing_of(self, reader: Reader, feeds: Sequence[FeedName]) -> Sequence[Standing]:
        names = sorted(set(feeds))
        found = await self._engine.read("feeds_standing_of", names, reader.value) if names else []
        return [Standing(*row) for row in found]


def advance(reader: Reader, stretches: Sequence[Stretch]) -> Plan[list[Stretch]]:
    """The first thing in a transaction; returns those that nobody else has taken."""
    new = [(reader.value, stretch.feed) for stretch in stretches if stretch.since == 0]
    yield from each("feed_reader_ensure", new)
    moved = yield from each("feed_reader_move", [(reader.value, *stretch) for stretch in stretches])
    ours = {row[0] for row in moved}
    return [stretch for stretch in stretches if stretch.feed in ours]

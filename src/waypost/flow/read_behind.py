"""Somebody reads behind the feeds: woken by hints; whatever they miss is found by going round all feeds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.chat import FeedName
from waypost.model.reading import Reader, Standing
from waypost.model.time import Instant, Span, seconds
from waypost.ports.failure import LedgerError
from waypost.ports.hints import FEED

GATHER: Span = seconds(0.25)
"""After a hint: what comes meanwhile is taken with it, and of several workers the first has done it all."""
LOOK_EVERY: Span = seconds(1)
LOOK_AT = 1_000
"""Feeds that are looked at without a hint, each time the next ones: an hour of lost hints costs seconds, not a scan."""

Take: TypeAlias = Callable[[Sequence[Standing]], Awaitable[Sequence[Standing]]]
"""Do a bounded part of what there is to do; returns what is left."""


class ReadBehind:
    def __init__(self, reader: Reader, take: Take, world: World, at_rest: Callable[[], None] = lambda: None) -> None:
        """`at_rest` is called whenever feeds were looked at and nothing was to be done."""
        self._reader = reader
        self._at_rest = at_rest
        self._take = take
        self._world = world
        self._after = ""
        self._looked_at = Instant(0)

    async def run(self) -> None:
        clock, dice = self._world.clock, self._world.dice
        with self._world.hints.listen(FEED) as ear:
            while True:
                try:
                    await self.round([FeedName(name) for name in ear.named()])
                except LedgerError:
                    await clock.sleep(PAUSE_AFTER_TROUBLE)
                if await ear.wait(LOOK_EVERY):
                    await clock.sleep(Span(round(GATHER * (0.5 + dice.unit()))))  # not all workers at the same moment

    async def round(self, named: Sequence[FeedName]) -> None:
        standing = [*await self._world.ledger.behind.standing_of(self._reader, named), *await self._look_on()]
        behind: Sequence[Standing] = list({one.feed: one for one in standing if one.behind}.values())
        if standing and not behind:
            self._at_rest()
        while behind:
            behind = await self._take(behind)

    async def _look_on(self) -> Sequence[Standing]:
        now = self._world.clock.now()
        if 0 <= now - self._looked_at < LOOK_EVERY:
            return []
        found = await self._world.ledger.behind.standing(self._reader, self._after, LOOK_AT)
        self._looked_at = now
        self._after = found[-1].feed if len(found) == LOOK_AT else ""
        return found

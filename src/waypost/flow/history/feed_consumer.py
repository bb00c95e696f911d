"""Consumes all feeds in order, woken by hints; a periodic scan finds what lost hints missed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.chat import FeedName
from waypost.model.consumer import Consumer, ConsumerPosition
from waypost.model.time import Instant, Span, seconds
from waypost.ports.platform.failure import LedgerError
from waypost.ports.platform.hints import FEED

GATHER: Span = seconds(0.25)
"""The pause after a hint: it batches items, and the first of several workers does all the work."""
LOOK_EVERY: Span = seconds(1)
LOOK_AT = 1_000
"""How many feeds each periodic scan checks, continuing where the last one ended."""

ConsumeRanges: TypeAlias = Callable[[Sequence[ConsumerPosition]], Awaitable[Sequence[ConsumerPosition]]]
"""Does a bounded part of the work; returns what is left."""


class FeedConsumer:
    def __init__(
        self, consumer: Consumer, consume: ConsumeRanges, world: World, at_rest: Callable[[], None] = lambda: None
    ) -> None:
        """`at_rest` is called when feeds were checked and there was nothing to do."""
        self._consumer = consumer
        self._at_rest = at_rest
        self._consume = consume
        self._world = world
        self._after = ""
        self._looked_at = Instant(0)

    async def run(self) -> None:
        clock, random = self._world.clock, self._world.random
        with self._world.hints.listen(FEED) as listener:
            while True:
                try:
                    await self.round([FeedName(name) for name in listener.named()])
                except LedgerError:
                    await clock.sleep(PAUSE_AFTER_TROUBLE)
                if await listener.wait(LOOK_EVERY):
                    await clock.sleep(Span(round(GATHER * (0.5 + random.unit()))))  # spread the workers

    async def round(self, named: Sequence[FeedName]) -> None:
        positions = [*await self._world.ledger.feed_consumers.position_of(self._consumer, named), *await self._scan()]
        behind: Sequence[ConsumerPosition] = list({one.feed: one for one in positions if one.behind}.values())
        if positions and not behind:
            self._at_rest()
        while behind:
            behind = await self._consume(behind)

    async def _scan(self) -> Sequence[ConsumerPosition]:
        now = self._world.clock.now()
        if 0 <= now - self._looked_at < LOOK_EVERY:
            return []
        found = await self._world.ledger.feed_consumers.standing(self._consumer, self._after, LOOK_AT)
        self._looked_at = now
        self._after = found[-1].feed if len(found) == LOOK_AT else ""
        return found

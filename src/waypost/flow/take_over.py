"""The turns of a worker that is known to be gone are taken over at once, not when its lease ends."""

from __future__ import annotations

from collections.abc import Iterable

from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.ids import WorkerId
from waypost.model.time import Span, minutes
from waypost.ports.failure import LedgerError
from waypost.ports.hints import GONE, LANES

LISTEN_FOR: Span = minutes(1)


async def at_start(world: World) -> int:
    """Whoever was in this process's place is gone. Returns how many of their turns were left."""
    return await abandon(world.predecessors, world)


async def follow(world: World) -> None:
    """Whoever a supervisor says is gone; a lost word costs the rest of a lease."""
    with world.hints.listen(GONE) as ear:
        while True:
            await ear.wait(LISTEN_FOR)
            await abandon(map(WorkerId, ear.named()), world)


async def abandon(gone: Iterable[WorkerId], world: World) -> int:
    left = 0
    for worker in gone:
        left += await _insist(worker, world)
    if left:
        world.hints.give([LANES])
    return left


async def _insist(worker: WorkerId, world: World) -> int:
    """A Ledger that is away for a moment must not cost the customers a lease."""
    while True:
        try:
            return await world.ledger.lanes.abandon(worker, world.clock.now())
        except LedgerError:
            await world.clock.sleep(PAUSE_AFTER_TROUBLE)

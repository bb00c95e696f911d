"""Frees the turns of a worker that is known to be gone, before its leases expire."""

from __future__ import annotations

from collections.abc import Iterable

from waypost.flow.world import PAUSE_AFTER_TROUBLE, World
from waypost.model.ids import WorkerId
from waypost.model.time import Span, minutes
from waypost.ports.platform.failure import LedgerError
from waypost.ports.platform.hints import GONE, TURNS

LISTEN_FOR: Span = minutes(1)


async def reclaim_at_start(world: World) -> int:
    """Frees the turns of this process's predecessors; returns how many there were."""
    return await abandon_turns(world.predecessors, world)


async def follow_worker_exits(world: World) -> None:
    """Frees the turns of workers that a supervisor reports gone; a lost hint costs the rest of a lease."""
    with world.hints.listen(GONE) as listener:
        while True:
            await listener.wait(LISTEN_FOR)
            await abandon_turns(map(WorkerId, listener.named()), world)


async def abandon_turns(gone: Iterable[WorkerId], world: World) -> int:
    left = 0
    for worker in gone:
        left += await _abandon(worker, world)
    if left:
        world.hints.give([TURNS])
    return left


async def _abandon(worker: WorkerId, world: World) -> int:
    """Retries until the Ledger answers, so that customers do not wait for a lease."""
    while True:
        try:
            return await world.ledger.turn_queue.abandon(worker, world.clock.now())
        except LedgerError:
            await world.clock.sleep(PAUSE_AFTER_TROUBLE)

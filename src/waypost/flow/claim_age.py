"""Whether a claim is still young enough to act on; asked right before every call to a provider or a bot."""

from __future__ import annotations

from waypost.flow.world import PAUSE_AFTER_TROUBLE, TIMED, World
from waypost.model.time import Instant, Span
from waypost.ports.platform.failure import LedgerError
from waypost.rules.limits import claim_age


async def trusted_now(world: World) -> Instant:
    """The Ledger's time. Waits while the Ledger must be asked for it and does not answer."""
    while True:
        try:
            return await world.clock.trusted()
        except LedgerError:
            await world.clock.sleep(PAUSE_AFTER_TROUBLE)


async def is_old(claimed_at: Instant, taken_over_after: Span, world: World) -> bool:
    """True after the process, or its machine, stood still. Pauses only if the clocks must be compared again."""
    usual = Span(sum(min(took) for took in (world.claims_took, world.reads_took) if len(took) == TIMED))
    return claim_age.is_old(claimed_at, await trusted_now(world), taken_over_after, usual)

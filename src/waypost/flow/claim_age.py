"""Whether a claim is still young enough to act on; asked right before every call to a provider or a bot."""

from __future__ import annotations

from waypost.flow.world import CLAIMS_TIMED, PAUSE_AFTER_TROUBLE, World
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
    usual = min(world.claims_took) if len(world.claims_took) == CLAIMS_TIMED else Span(0)
    try:
        now = await world.clock.trusted()
    except LedgerError:
        now = await trusted_now(world)
    return claim_age.is_old(claimed_at, now, taken_over_after, usual)

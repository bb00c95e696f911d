"""What direct provider calls share: they pick a number of the org and retry a few times."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from waypost.flow.number_cache import LOOK_AGAIN, ConnectedNumber
from waypost.flow.sending.submit import SubmitRefusal
from waypost.flow.world import World
from waypost.model.ids import OrgId
from waypost.model.outcome import Unreached, Unsure
from waypost.model.time import Span, seconds
from waypost.ports.sending.provider_extras import ProviderCallResult

ATTEMPTS = 3
PAUSE: Span = seconds(0.2)


async def number_of(
    wanted: str | None, org: OrgId, world: World, *, only: bool = False
) -> ConnectedNumber | SubmitRefusal:
    """The wanted number, or the org's first if none is wanted; with `only`, the org must have exactly one then."""
    numbers = await world.numbers.of_org(org)
    if not numbers or (wanted is not None and all(each.number.id != wanted for each in numbers)):
        numbers = await world.numbers.of_org(org, LOOK_AGAIN)
    if not numbers:
        return SubmitRefusal("unknown_number", "from", "this org has no connected number: POST /api/v1/numbers first")
    if wanted is None:
        if only and len(numbers) > 1:
            return SubmitRefusal("invalid_payload", "from", "is required: this org has several numbers")
        return numbers[0]
    found = next((each for each in numbers if each.number.id == wanted), None)
    return found or SubmitRefusal("unknown_number", "from", "is not a number that this org has connected")


async def call_with_retries(
    call: Callable[[], Awaitable[ProviderCallResult]],
    retried: tuple[type[Unreached] | type[Unsure], ...],
    world: World,
) -> ProviderCallResult:
    """The result of the last attempt; only results of the `retried` types lead to another one."""
    pause = PAUSE
    for _ in range(ATTEMPTS - 1):
        result = await call()
        if not isinstance(result, retried):
            return result
        await world.clock.sleep(pause)
        pause = Span(pause * 2)
    return await call()

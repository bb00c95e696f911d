"""Beside sending: read receipts and uploads. Asked of the provider at once; the caller hears how it went."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from waypost.flow.numbers import LOOK_AGAIN, Connected
from waypost.flow.submit import Refusal
from waypost.flow.world import World
from waypost.model.ids import OrgId
from waypost.model.outcome import Unreached, Unsure
from waypost.model.time import Span, seconds
from waypost.ports.extras import Answered, Form

TRIES = 3
PAUSE: Span = seconds(0.2)


async def number_of(wanted: str | None, org: OrgId, world: World, *, only: bool = False) -> Connected | Refusal:
    """The number that is meant: the one named, else the org's first; with `only`, its only one."""
    numbers = await world.numbers.of_org(org)
    if not numbers or (wanted is not None and all(each.number.id != wanted for each in numbers)):
        numbers = await world.numbers.of_org(org, LOOK_AGAIN)
    if not numbers:
        return Refusal("unknown_number", "from", "this org has no connected number: POST /api/v1/numbers first")
    if wanted is None:
        if only and len(numbers) > 1:
            return Refusal("invalid_payload", "from", "is required: this org has several numbers")
        return numbers[0]
    found = next((each for each in numbers if each.number.id == wanted), None)
    return found or Refusal("unknown_number", "from", "is not a number that this org has connected")


async def mark_read(number: Connected, message_id: str, typing: bool, world: World) -> Answered:
    """Telling it twice changes nothing, so any trouble on the way is worth another try."""
    return await _bounded(
        lambda: world.extras.mark_read(number.sender, message_id, typing=typing), (Unreached, Unsure), world
    )


async def upload(number: Connected, form: Form, world: World) -> Answered:
    """Again only where nothing can have arrived: a second copy would be stored, and paid for in time."""
    return await _bounded(lambda: world.extras.upload(number.sender, form), (Unreached,), world)


async def _bounded(
    call: Callable[[], Awaitable[Answered]], trouble: tuple[type[Unreached] | type[Unsure], ...], world: World
) -> Answered:
    pause = PAUSE
    for _ in range(TRIES - 1):
        answered = await call()
        if not isinstance(answered, trouble):
            return answered
        await world.clock.sleep(pause)
        pause = Span(pause * 2)
    return await call()

"""Media uploads: a caller's file is passed on to the provider at once."""

from __future__ import annotations

from waypost.flow.number_cache import ConnectedNumber
from waypost.flow.sending.provider_calls import call_with_retries
from waypost.flow.world import World
from waypost.model.outcome import Unreached
from waypost.ports.sending.provider_extras import MultipartForm, ProviderCallResult


async def upload(number: ConnectedNumber, form: MultipartForm, world: World) -> ProviderCallResult:
    """Retried only if the provider was not reached: after an unknown outcome it may already store the file."""
    return await call_with_retries(lambda: world.extras.upload(number.sender, form), (Unreached,), world)

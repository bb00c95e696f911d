"""Read receipts and typing indicators: sent to the provider at once, not queued."""

from __future__ import annotations

from waypost.flow.number_cache import ConnectedNumber
from waypost.flow.sending.provider_calls import call_with_retries
from waypost.flow.world import World
from waypost.model.outcome import Unreached, Unsure
from waypost.ports.sending.provider_extras import ProviderCallResult


async def mark_read(number: ConnectedNumber, message_id: str, typing: bool, world: World) -> ProviderCallResult:
    """The call is idempotent, so an unknown outcome is retried too."""
    return await call_with_retries(
        lambda: world.extras.mark_read(number.sender, message_id, typing=typing), (Unreached, Unsure), world
    )

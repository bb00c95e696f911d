"""The world's time zones, loaded in a thread when the first org has quiet hours: 200 ms of files."""

from __future__ import annotations

import asyncio
from importlib import import_module

from waypost.model.policy import Policy


async def ready_for(*policies: Policy) -> None:
    """Return when everything is at hand that these policies need; at once for those that need nothing."""
    if any(policy.quiet_hours for policy in policies):
        await asyncio.to_thread(import_module, "waypost.rules.zones")

"""Loads the time zones in a thread when an org first uses quiet hours: this takes 200 ms."""

from __future__ import annotations

import asyncio
from importlib import import_module

from waypost.model.policy import Policy


async def ready_for(*policies: Policy) -> None:
    """Returns when the time zones that these policies need are loaded."""
    if any(policy.quiet_hours for policy in policies):
        await asyncio.to_thread(import_module, "waypost.rules.limits.calling_zones")

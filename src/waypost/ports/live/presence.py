"""Presence of users; it expires by itself, and no important decision depends on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

from waypost.model.chat import DeviceId
from waypost.model.ids import OrgId, UserId
from waypost.model.time import Span, seconds

SYNCING_FOR: Span = seconds(60)
"""A device that catches up for longer than this without a renewal counts as offline."""
HERE_FOR: Span = seconds(30)


class PresenceState(StrEnum):
    OFFLINE = "offline"
    SYNCING = "syncing"
    ONLINE = "online"


class PresenceListener(Protocol):
    async def wait(self, timeout: Span) -> bool:
        """True as soon as the presence of a user changes, False after `timeout`."""

    def named(self) -> Sequence[tuple[OrgId, UserId]]:
        """The users whose presence changed since the last call."""


class Presence(Protocol):
    """Per user and device; a user's state is the best of their devices. A lost or late update costs only seconds."""

    def set(self, org: OrgId, user: UserId, device: DeviceId, presence: PresenceState) -> None:
        """Set the state of a device of this process; it expires unless renewed in time."""

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, PresenceState]:
        """The state of each of these users."""

    def listen(self) -> AbstractContextManager[PresenceListener]:
        """Listen from now on for presence changes in any process."""

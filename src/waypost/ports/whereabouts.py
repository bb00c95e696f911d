"""Who is here: a fact that expires by itself. Nothing that matters is decided by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

from waypost.model.chat import DeviceId
from waypost.model.ids import OrgId, UserId
from waypost.model.time import Span, seconds

SYNCING_FOR: Span = seconds(60)
"""A device that catches up for longer than this without a word counts as away."""
HERE_FOR: Span = seconds(30)


class Presence(StrEnum):
    OFFLINE = "offline"
    SYNCING = "syncing"
    ONLINE = "online"


class Watch(Protocol):
    async def wait(self, timeout: Span) -> bool:
        """True as soon as something was said of anybody, False after `timeout`."""

    def named(self) -> Sequence[tuple[OrgId, UserId]]:
        """Of whom, since this was last asked."""


class Whereabouts(Protocol):
    """Per person and device; of a person the best of their devices counts. Lost or late news cost seconds, no more."""

    def say(self, org: OrgId, user: UserId, device: DeviceId, presence: Presence) -> None:
        """A device of this process catches up, is here, or went away; what is not repeated in time expires."""

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, Presence]:
        """Of every one of them."""

    def listen(self) -> AbstractContextManager[Watch]:
        """Hear, from now on, of whom something was said in any process."""

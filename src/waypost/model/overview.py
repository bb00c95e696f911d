"""The operator's overview: recent traffic, and the state of each component."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from waypost.model.time import Instant


class MessageMoments(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The timestamps of one message."""

    created_at: Instant
    wanted_at: Instant
    """When it should be sent: when submitted, or at its scheduled time."""
    sent_at: Instant | None
    delivered_at: Instant | None
    failed_at: Instant | None
    done_at: Instant | None
    """When it stopped waiting: accepted by the provider, failed or cancelled."""


class RecentTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """An org's newest sent and received messages, up to a limit."""

    messages: Sequence[MessageMoments]
    received: Sequence[Instant]
    """When customers' messages were received."""
    sent_since: Instant | None
    """Before this moment, `messages` is incomplete; None: it is complete."""
    received_since: Instant | None
    """The same for `received`."""


class ComponentState(StrEnum):
    OK = "ok"
    TROUBLE = "trouble"
    OFF = "off"
    """Not configured, and not required."""


class Component(msgspec.Struct, frozen=True):
    """A component of the system and its state."""

    name: str
    state: ComponentState
    detail: str

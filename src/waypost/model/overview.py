"""What an operator sees at a glance: what came and went lately, and how each part of the machine is."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from waypost.model.time import Instant


class Moments(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """When the stations of one message were."""

    created_at: Instant
    wanted_at: Instant
    """When it was to go: on arrival, or at the time that its caller chose."""
    sent_at: Instant | None
    delivered_at: Instant | None
    failed_at: Instant | None
    done_at: Instant | None
    """When it waited no longer: the provider had it, or it was given up or taken back."""


class Lately(msgspec.Struct, frozen=True, kw_only=True):
    """The newest of what an org sent and was sent, as far as somebody looked."""

    messages: Sequence[Moments]
    received: Sequence[Instant]
    """Of customers' messages."""
    sent_since: Instant | None
    """Of what went or ended before, not all was looked at; None: it was."""
    received_since: Instant | None
    """The same of what came in."""


class PartState(StrEnum):
    OK = "ok"
    TROUBLE = "trouble"
    OFF = "off"
    """Not there, and not needed."""


class Part(msgspec.Struct, frozen=True):
    """Something that the whole is made of, and how it is."""

    name: str
    state: PartState
    detail: str

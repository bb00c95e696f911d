"""What stands in the way of many messages at once: a row of its scope, never a rewrite of its messages."""

from __future__ import annotations

from enum import StrEnum
from typing import NewType

import msgspec

from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Instant, Span, hours, minutes

GateId = NewType("GateId", int)

GateName = NewType("GateName", str)
"""The scope that a gate closes, in words: `number:1`, `account:2`, `org:acme`, `template:2/hello`, `pair:1/+49…`."""


class GateKind(StrEnum):
    """Why a gate is closed; what `deferredBy` says of those who wait behind it."""

    THROTTLE = "throttle"
    """The provider asked us to wait."""
    HOLD = "hold"
    """Nothing can succeed until somebody has removed the cause."""
    BREAKER = "breaker"
    """The provider fails too often; a probe now and then finds out when it is back."""


_MOST_GROWTHS = 64
"""By then every wait is at its longest, and no power is too large for a float."""


class Wait(msgspec.Struct, frozen=True):
    """How long to stay away when the provider does not say, and by what factor longer each time in a row."""

    first: Span = minutes(1)
    growth: float = 2.0
    longest: Span = hours(1)

    def after(self, times_in_a_row: int) -> Span:
        grown = self.first * self.growth ** min(max(times_in_a_row - 1, 0), _MOST_GROWTHS)
        return Span(round(min(grown, self.longest)))


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """A gate that is to be closed."""

    org_id: OrgId
    name: GateName
    kind: GateKind
    code: str
    reason: str
    wait: Wait | None = None
    retry_after: float | None = None
    """Seconds, when the provider said."""
    until: Instant | None = None
    """The end of a hold, where it is known."""
    pair: tuple[NumberId, str] | None = None
    """The one number and customer that it concerns, where it is no more than that."""


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    id: GateId
    org_id: OrgId
    name: GateName
    kind: GateKind
    code: str
    reason: str
    since: Instant
    until: Instant | None
    """None: until somebody opens it."""
    times: int
    """How often in a row it was closed: what a growing wait grows by."""


class Outlet(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that the same gates can stop: one number's freeform messages, or those of one of its templates."""

    id: int
    org_id: OrgId
    sender: NumberId
    template: str
    """Empty for freeform."""
    waba_id: str | None
    pace: int | None
    """Messages per second that the number may send; None when it is not connected."""
    tier: int | None
    """New customers a day that templates of the number may reach; None is no limit."""
    gate: Gate | None
    """The one that stands in the way, or stood last."""

"""Gates: one row stops all messages of a scope, without a change to those messages."""

from __future__ import annotations

from enum import StrEnum
from typing import NewType

import msgspec

from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Instant, Span, hours, minutes

GateId = NewType("GateId", int)

GateName = NewType("GateName", str)
"""The scope that a gate closes: `number:1`, `account:2`, `org:acme`, `template:2/hello`, `pair:1/+49…`."""


class GateKind(StrEnum):
    """Why a gate is closed; the `deferredBy` of messages that wait behind it."""

    THROTTLE = "throttle"
    """The provider asked us to wait."""
    HOLD = "hold"
    """Nothing can succeed until a person removes the cause."""
    BREAKER = "breaker"
    """The provider fails too often; a probe at intervals tests whether it works again."""


_MOST_GROWTHS = 64
"""By then every wait has reached `longest`, and the power still fits a float."""


class GateBackoff(msgspec.Struct, frozen=True):
    """The wait if the provider names none, and the factor by which it grows each time in a row."""

    first: Span = minutes(1)
    growth: float = 2.0
    longest: Span = hours(1)

    def after(self, times_in_a_row: int) -> Span:
        grown = self.first * self.growth ** min(max(times_in_a_row - 1, 0), _MOST_GROWTHS)
        return Span(round(min(grown, self.longest)))


class GateClosing(msgspec.Struct, frozen=True, kw_only=True):
    """A request to close a gate."""

    org_id: OrgId
    name: GateName
    kind: GateKind
    code: str
    reason: str
    wait: GateBackoff | None = None
    retry_after: float | None = None
    """Seconds, if the provider named a time."""
    until: Instant | None = None
    """The end of a hold, if known."""
    pair: tuple[NumberId, str] | None = None
    """The number and customer, if it concerns only these two."""


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    id: GateId
    org_id: OrgId
    name: GateName
    kind: GateKind
    code: str
    reason: str
    since: Instant
    until: Instant | None
    """None: until a person opens it."""
    times: int
    """How many times in a row it was closed; the wait grows with it."""


class DispatchGroup(msgspec.Struct, frozen=True, kw_only=True):
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
    """The gate that blocks it now, or blocked it last."""

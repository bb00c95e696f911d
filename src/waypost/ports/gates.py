"""What is closed, how much may still be sent, and until when a customer may be answered freely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from waypost.model.audit import SYSTEM
from waypost.model.gate import Closing, Gate, GateId, GateName, Outlet
from waypost.model.ids import MessageId, NumberId, OrgId
from waypost.model.pair import Pair
from waypost.model.time import Instant
from waypost.rules.pacing import Permit


class Closed(msgspec.Struct, frozen=True):
    gate: Gate
    waiting: int
    """Messages that are due and stand behind it; counted up to a limit."""


class Standing(msgspec.Struct, frozen=True):
    """What stands before a message that is due: its outlet, with its gate and permits."""

    outlet: Outlet
    permits: Mapping[str, Permit]


class Gates(Protocol):
    async def close(self, closing: Closing, now: Instant) -> Gate:
        """Close a gate, or keep it closed for longer; costs one row, whatever waits behind it.

        It stops messages of its own org only: what another org calls by the same name is another gate.
        """

    async def open(self, gate: GateId) -> bool:
        """Open a gate by its id; False when it was not there."""

    async def probe_again(self, gate: GateId, drawn_at: Instant, now: Instant) -> bool:
        """Let a breaker be probed at once, since the probe that a claim drew then was not used.

        False when somebody else has moved the gate meanwhile: what they said stands.
        """

    async def reopen(self, org: OrgId, name: GateName) -> int:
        """Open whatever this org has closed under that name; returns how many."""

    async def release(self, org: OrgId, gate: GateId, actor: str = SYSTEM) -> Gate | None:
        """Open a gate of this org, with its audit entry; None when the org has no such gate."""

    async def of_org(self, org: OrgId, now: Instant) -> Sequence[Closed]:
        """What is closed for this org, oldest first; a throttle whose time is up is not listed."""

    async def closed(self, org: OrgId, now: Instant) -> Sequence[Gate]:
        """The same gates, without counting who waits."""

    async def standing(self, messages: Sequence[MessageId], now: Instant | None = None) -> Mapping[MessageId, Standing]:
        """Of those that are ready to be claimed, what they wait for; one look, however many they are."""

    async def tidy(self, before: Instant) -> int:
        """Forget throttles that have been over since before then; returns how many."""


class Quotas(Protocol):
    async def get(self, org: OrgId) -> Permit:
        """What the org has drawn since when, of how much; an org that never had a limit has none."""

    async def set_limit(self, org: OrgId, most: int | None, actor: str = SYSTEM) -> Permit:
        """Change the limit, None to none at all, with its audit entry; what was drawn stays drawn."""


class Windows(Protocol):
    async def of(self, numbers: Sequence[NumberId], customer: str) -> Sequence[Pair]:
        """What is known between these numbers and the customer."""

    async def last_outbound(self, numbers: Sequence[NumberId], customer: str) -> Instant | None:
        """When the provider last took a message from one of these numbers to the customer."""

    async def expire(self, before: Instant, limit: int) -> int:
        """Forget pairs that mean nothing any more, so many at most; returns how many."""

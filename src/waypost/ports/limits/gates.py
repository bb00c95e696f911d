"""Gates, quotas and windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from waypost.model.audit import SYSTEM
from waypost.model.gate import DispatchGroup, Gate, GateClosing, GateId, GateName
from waypost.model.ids import MessageId, NumberId, OrgId
from waypost.model.recipient_state import RecipientState
from waypost.model.time import Instant
from waypost.rules.limits.send_pace import Permit


class ClosedGate(msgspec.Struct, frozen=True):
    gate: Gate
    waiting: int
    """Due messages behind it; counted up to a limit."""


class DispatchState(msgspec.Struct, frozen=True):
    """The dispatch group of a due message, with its gate and permits."""

    group: DispatchGroup
    permits: Mapping[str, Permit]


class Gates(Protocol):
    async def close(self, closing: GateClosing, now: Instant) -> Gate:
        """Close a gate, or keep it closed for longer; writes one row, however many messages wait behind it.

        It stops only messages of its own org: the same name in another org is another gate.
        """

    async def open(self, gate: GateId) -> bool:
        """Open a gate by its id; False if it does not exist."""

    async def probe_again(self, gate: GateId, drawn_at: Instant, now: Instant) -> bool:
        """Allow a new probe of a breaker at once, because the probe drawn at `drawn_at` was not used.

        False if the gate was changed since then; the change stays.
        """

    async def reopen(self, org: OrgId, name: GateName) -> int:
        """Open all gates of this org with that name; returns how many."""

    async def release(self, org: OrgId, gate: GateId, actor: str = SYSTEM) -> Gate | None:
        """Open a gate of this org, with an audit entry; None if the org has no such gate."""

    async def of_org(self, org: OrgId, now: Instant) -> Sequence[ClosedGate]:
        """The closed gates of this org, oldest first, without throttles that have ended."""

    async def closed(self, org: OrgId, now: Instant) -> Sequence[Gate]:
        """The same gates, without the number of waiting messages."""

    async def standing(
        self, messages: Sequence[MessageId], now: Instant | None = None
    ) -> Mapping[MessageId, DispatchState]:
        """The dispatch state of those messages that are ready to be claimed; one query for all."""

    async def tidy(self, before: Instant) -> int:
        """Prune throttles that ended before then; returns how many."""


class Quotas(Protocol):
    async def get(self, org: OrgId) -> Permit:
        """The org's quota: used, since when, and the limit; no limit if none was ever set."""

    async def set_limit(self, org: OrgId, most: int | None, actor: str = SYSTEM) -> Permit:
        """Change the limit, None for no limit, with an audit entry; the used amount stays."""


class Windows(Protocol):
    async def of(self, numbers: Sequence[NumberId], customer: str) -> Sequence[RecipientState]:
        """The recipient states of these numbers and the customer."""

    async def last_outbound(self, numbers: Sequence[NumberId], customer: str) -> Instant | None:
        """When the provider last accepted a message from one of these numbers to the customer."""

    async def expire(self, before: Instant, limit: int) -> int:
        """Prune recipient states that no longer matter, at most `limit`; returns how many."""

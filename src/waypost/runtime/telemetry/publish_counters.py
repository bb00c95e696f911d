"""Publishes the use of quotas after each commit, in the background."""

from __future__ import annotations

import asyncio

from waypost.model.audit import SYSTEM
from waypost.model.gate import Gate, GateClosing, GateId, GateKind, GateName
from waypost.model.ids import OrgId
from waypost.model.time import Instant, Span, seconds
from waypost.ports.ledger import Ledger
from waypost.ports.limits.gates import Gates, Quotas
from waypost.ports.limits.published_counters import Counters
from waypost.ports.platform.clock import Clock
from waypost.ports.platform.failure import LedgerError
from waypost.ports.sending.outbox import Batch, Demand, Outbox, Settled, Settlement
from waypost.rules.limits import send_pace
from waypost.rules.limits.send_pace import Permit
from waypost.rules.sending.delivery import Accept

SETTLE_FOR: Span = seconds(1)
"""Delay of the read after a change, to include refunds and other processes."""


class PublishedCounters:
    """Wraps the ports that change an org's counters."""

    def __init__(self, ledger: Ledger, counters: Counters, clock: Clock) -> None:
        self._quotas = ledger.quotas
        self._gates = ledger.gates
        self._clock = clock
        self._moved: dict[OrgId, None] = {}
        self._something = asyncio.Event()
        self.counters = counters
        self.outbox = PublishingOutbox(ledger.outbox, self)
        self.quotas = PublishingQuotas(ledger.quotas, self)
        self.gates = PublishingGates(ledger.gates, self)

    def moved(self, org: OrgId) -> None:
        self._moved[org] = None
        self._something.set()

    async def run(self) -> None:
        """Runs until cancelled: reads changed counters a moment later and publishes them."""
        while True:
            await self._something.wait()
            await self._clock.sleep(SETTLE_FOR)
            self._something.clear()
            moved, self._moved = self._moved, {}
            for org in moved:
                await self._show(org)

    async def _show(self, org: OrgId) -> None:
        now = self._clock.now()
        try:
            quota = send_pace.current(await self._quotas.get(org), now)
            closed = await self._gates.closed(org, now)
        except LedgerError:
            self.moved(org)
            return
        waits = [gate.until for gate in closed if gate.kind is GateKind.THROTTLE and gate.until is not None]
        self.counters.stands(org, quota, max(waits, default=None))


class PublishingOutbox:
    def __init__(self, outbox: Outbox, shown: PublishedCounters) -> None:
        self._outbox = outbox
        self._shown = shown
        self.submit = outbox.submit
        self.hand_back = outbox.hand_back
        self.cancel = outbox.cancel
        self.retry = outbox.retry
        self.expire = outbox.expire
        self.replay = outbox.replay
        self.sweep = outbox.sweep

    async def claim(self, demand: Demand, now: Instant) -> Batch:
        batch = await self._outbox.claim(demand, now)
        for org, quota in batch.quotas.items():
            self._shown.counters.drawn(org, quota)
            self._shown.moved(org)
        return batch

    async def settle(self, settlement: Settlement, now: Instant) -> Settled:
        settled = await self._outbox.settle(settlement, now)
        if not isinstance(settlement.verdict, Accept):  # it may have given its permit back, or closed a gate
            self._shown.moved(settlement.message.org_id)
        return settled


class PublishingQuotas:
    def __init__(self, quotas: Quotas, shown: PublishedCounters) -> None:
        self._quotas = quotas
        self._shown = shown
        self.get = quotas.get

    async def set_limit(self, org: OrgId, most: int | None, actor: str = SYSTEM) -> Permit:
        quota = await self._quotas.set_limit(org, most, actor)
        self._shown.moved(org)
        return quota


class PublishingGates:
    def __init__(self, gates: Gates, shown: PublishedCounters) -> None:
        self._gates = gates
        self._shown = shown
        self.open = gates.open
        self.probe_again = gates.probe_again
        self.of_org = gates.of_org
        self.closed = gates.closed
        self.standing = gates.standing
        self.tidy = gates.tidy

    async def close(self, closing: GateClosing, now: Instant) -> Gate:
        gate = await self._gates.close(closing, now)
        self._shown.moved(closing.org_id)
        return gate

    async def reopen(self, org: OrgId, name: GateName) -> int:
        count = await self._gates.reopen(org, name)
        self._shown.moved(org)
        return count

    async def release(self, org: OrgId, gate: GateId, actor: str = SYSTEM) -> Gate | None:
        released = await self._gates.release(org, gate, actor)
        self._shown.moved(org)
        return released

"""Quotas, gates, windows and message statistics for operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from waypost.flow.world import World
from waypost.model.audit import SYSTEM
from waypost.model.gate import Gate, GateId, GateKind
from waypost.model.ids import NumberId, OrgId
from waypost.model.recipient_state import RecipientState
from waypost.model.time import Instant
from waypost.ports.limits.gates import ClosedGate
from waypost.ports.platform.hints import OUTBOX
from waypost.rules.conversations import phone_forms
from waypost.rules.limits import send_pace, window
from waypost.rules.limits.gates import NUMBER_DISABLED
from waypost.rules.operations.figures import MessageStats, figures

RECENT = 5_000
"""How many messages the statistics cover."""
COUNT_AT_MOST = 100_000


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    sent: int
    limit: int | None
    remaining: int | None
    resets_at: Instant
    throttled_until: Instant | None


async def quota_of(org: OrgId, world: World) -> Quota:
    now = world.clock.now()
    permit = send_pace.current(await world.ledger.quotas.get(org), now)
    closed = await world.ledger.gates.closed(org, now)
    waits = [gate.until for gate in closed if gate.kind is GateKind.THROTTLE and gate.until is not None]
    return Quota(
        sent=permit.used,
        limit=permit.most,
        remaining=send_pace.remaining(permit, now),
        resets_at=send_pace.resets_at(permit),
        throttled_until=max(waits, default=None),
    )


async def set_quota(org: OrgId, limit: int | None, world: World, actor: str = SYSTEM) -> Quota:
    """Raising the limit releases waiting messages immediately."""
    await world.ledger.quotas.set_limit(org, limit, actor)
    world.hints.give([OUTBOX])
    return await quota_of(org, world)


class GateReleased(msgspec.Struct, frozen=True):
    gate: Gate


class GateNotFound(msgspec.Struct, frozen=True):
    pass


class NumberDisabled(msgspec.Struct, frozen=True):
    """The gate of a disabled number: only enabling the number opens it."""

    number: str


ReleaseResult: TypeAlias = GateReleased | GateNotFound | NumberDisabled


async def release(org: OrgId, gate_id: GateId, world: World, actor: str = SYSTEM) -> ReleaseResult:
    closed = await world.ledger.gates.closed(org, world.clock.now())
    known = next((gate for gate in closed if gate.id == gate_id), None)
    if known is not None and known.code == NUMBER_DISABLED:
        return NumberDisabled(known.name.partition(":")[2])
    gate = await world.ledger.gates.release(org, gate_id, actor) if known is not None else None
    if gate is None:
        return GateNotFound()
    world.just_closed.pop((gate.org_id, gate.name), None)
    world.hints.give([OUTBOX])
    return GateReleased(gate)


class ServiceWindow(msgspec.Struct, frozen=True, kw_only=True):
    """The customer service window between one of the org's numbers and a customer."""

    pair: RecipientState | None
    open: bool
    last_outbound_at: Instant | None


async def window_with(org: OrgId, customer: str, world: World) -> ServiceWindow:
    """The window that stays open longest, among the org's numbers and all forms of the customer's phone number.

    A message without `from` is sent from that number.
    """
    numbers = [NumberId(connected.number.id) for connected in await world.numbers.of_org(org)]
    windows, forms = world.ledger.windows, phone_forms.spellings(customer)
    states = [state for form in forms for state in await windows.of(numbers, form) if state.expires_at is not None]
    latest = max(states, key=lambda state: state.expires_at or 0, default=None)
    sent = [at for form in forms if (at := await windows.last_outbound(numbers, form)) is not None]
    return ServiceWindow(
        pair=latest,
        open=latest is not None and window.is_open(latest.expires_at, world.clock.now()),
        last_outbound_at=max(sent, default=None),
    )


async def figures_of(org: OrgId, world: World) -> MessageStats:
    tally = await world.ledger.operator_reads.tally(org, RECENT, COUNT_AT_MOST)
    times = [(each.wanted_at, each.sent_at, each.delivered_at) for each in tally.recent]
    return figures(tally.counts, tally.retries, times)


async def closed_gates(org: OrgId, world: World) -> Sequence[ClosedGate]:
    """The org's closed gates, oldest first, each with the number of messages waiting behind it."""
    return await world.ledger.gates.of_org(org, world.clock.now())

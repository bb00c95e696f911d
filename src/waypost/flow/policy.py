"""What an operator sees and changes of the rules: an org's quota, what is closed, windows, figures."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from waypost.flow.world import World
from waypost.model.audit import SYSTEM
from waypost.model.gate import Gate, GateId, GateKind
from waypost.model.ids import NumberId, OrgId
from waypost.model.pair import Pair
from waypost.model.time import Instant
from waypost.ports.hints import OUTBOX
from waypost.rules import pacing, people, window
from waypost.rules.figures import Figures, figures
from waypost.rules.gates import NUMBER_DISABLED

RECENT = 5_000
"""Messages that the figures look at."""
COUNT_AT_MOST = 100_000


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    sent: int
    limit: int | None
    remaining: int | None
    resets_at: Instant
    throttled_until: Instant | None


async def quota_of(org: OrgId, world: World) -> Quota:
    now = world.clock.now()
    permit = pacing.current(await world.ledger.quotas.get(org), now)
    closed = await world.ledger.gates.closed(org, now)
    waits = [gate.until for gate in closed if gate.kind is GateKind.THROTTLE and gate.until is not None]
    return Quota(
        sent=permit.used,
        limit=permit.most,
        remaining=pacing.remaining(permit, now),
        resets_at=pacing.resets_at(permit),
        throttled_until=max(waits, default=None),
    )


async def set_quota(org: OrgId, limit: int | None, world: World, actor: str = SYSTEM) -> Quota:
    """What a higher limit lets through goes at once."""
    await world.ledger.quotas.set_limit(org, limit, actor)
    world.hints.give([OUTBOX])
    return await quota_of(org, world)


class Released(msgspec.Struct, frozen=True):
    gate: Gate


class NoGate(msgspec.Struct, frozen=True):
    pass


class Disabled(msgspec.Struct, frozen=True):
    """The gate of a number that a person disabled: only enabling the number opens it."""

    number: str


Release: TypeAlias = Released | NoGate | Disabled


async def release(org: OrgId, gate_id: GateId, world: World, actor: str = SYSTEM) -> Release:
    closed = await world.ledger.gates.closed(org, world.clock.now())
    known = next((gate for gate in closed if gate.id == gate_id), None)
    if known is not None and known.code == NUMBER_DISABLED:
        return Disabled(known.name.partition(":")[2])
    gate = await world.ledger.gates.release(org, gate_id, actor) if known is not None else None
    if gate is None:
        return NoGate()
    world.just_closed.pop((gate.org_id, gate.name), None)
    world.hints.give([OUTBOX])
    return Released(gate)


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Between one of the org's numbers and a customer."""

    pair: Pair | None
    open: bool
    last_outbound_at: Instant | None


async def window_with(org: OrgId, customer: str, world: World) -> Window:
    """Of the number whose window stays open longest: a message without `from` goes from there.

    Whichever form of their phone the customer wrote from.
    """
    numbers = [NumberId(connected.number.id) for connected in await world.numbers.of_org(org)]
    windows, forms = world.ledger.windows, people.spellings(customer)
    pairs = [pair for form in forms for pair in await windows.of(numbers, form) if pair.expires_at is not None]
    latest = max(pairs, key=lambda pair: pair.expires_at or 0, default=None)
    sent = [at for form in forms if (at := await windows.last_outbound(numbers, form)) is not None]
    return Window(
        pair=latest,
        open=latest is not None and window.is_open(latest.expires_at, world.clock.now()),
        last_outbound_at=max(sent, default=None),
    )


async def figures_of(org: OrgId, world: World) -> Figures:
    tally = await world.ledger.operating.tally(org, RECENT, COUNT_AT_MOST)
    times = [(each.wanted_at, each.sent_at, each.delivered_at) for each in tally.recent]
    return figures(tally.counts, tally.retries, times)

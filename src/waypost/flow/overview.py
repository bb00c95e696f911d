"""What an operator sees at a glance: the latest hour, what waits, and how the parts are that this process can ask."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from waypost.flow.world import World
from waypost.model.chat import FeedName
from waypost.model.figures import Waiting
from waypost.model.gate import GateKind
from waypost.model.ids import OrgId
from waypost.model.message import Status
from waypost.model.overview import Part, PartState
from waypost.model.reading import Reader
from waypost.model.time import Instant, Span, as_seconds
from waypost.ports.detector import Invariant
from waypost.ports.failure import LedgerError
from waypost.rules.overview import Course, course
from waypost.rules.why import SILENT_AFTER

LOOKED_AT = 1_000
"""Messages of each status, and things that the team was told: the same work however many there are."""
COUNTED = 10_000
PATIENCE = 2.0
"""Seconds that the Log has to answer."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    at: Instant
    course: Course
    looked_at: int
    waiting: Sequence[Waiting]
    counts: Mapping[Status, int]
    parts: Sequence[Part]
    looked_for_losses_at: Instant | None


async def overview(org: OrgId, span: Span, world: World) -> Overview:
    now, ledger = world.clock.now(), world.ledger
    lately = await ledger.figures.lately(org, LOOKED_AT)
    return Overview(
        at=now,
        course=course(lately, span, now),
        looked_at=len(lately.messages),
        waiting=await ledger.figures.waiting(org, now),
        counts=(await ledger.operating.tally(org, 0, COUNTED)).counts,
        parts=await parts(org, world),
        looked_for_losses_at=await ledger.operating.losses_looked_for_at(),
    )


async def parts(org: OrgId, world: World) -> list[Part]:
    return [
        await _database(world),
        await _log(org, world),
        await _workers(world),
        await _providers(org, world),
        Part("bot", PartState.OFF if world.bot is None else PartState.OK, "none" if world.bot is None else "answers"),
    ]


async def _database(world: World) -> Part:
    began = world.clock.monotonic()
    await world.ledger.ping()
    return Part("database", PartState.OK, f"answers in {(world.clock.monotonic() - began) * 1000:.0f} ms")


async def _log(org: OrgId, world: World) -> Part:
    if not world.log_apart:
        return Part("log", PartState.OK, "in the database")
    try:
        async with asyncio.timeout(PATIENCE):
            await world.log.ping()
    except (LedgerError, TimeoutError) as away:
        return Part("log", PartState.TROUBLE, f"does not answer, and messages wait for it: {away}".rstrip(": "))
    behind = await world.ledger.behind.standing_of(Reader.LOG, [FeedName(f"team:{org}")])
    return Part("log", PartState.OK, f"{sum(one.head - one.read for one in behind)} items on their way to it")


async def _workers(world: World) -> Part:
    seen_at = await world.ledger.operating.worker_seen_at()
    if seen_at is None:
        return Part("workers", PartState.TROUBLE, "none has ever run on this database")
    quiet_for = max(0, world.clock.now() - seen_at)
    state = PartState.OK if quiet_for <= SILENT_AFTER else PartState.TROUBLE
    return Part("workers", state, f"one was seen {as_seconds(quiet_for):.0f} s ago")


async def _providers(org: OrgId, world: World) -> Part:
    closed = await world.ledger.gates.closed(org, world.clock.now())
    broken = [gate for gate in closed if gate.kind is GateKind.BREAKER]
    if broken:
        told = ", ".join(f"{gate.name} ({gate.reason})" for gate in broken)
        return Part("providers", PartState.TROUBLE, f"sending is interrupted: {told}")
    return Part("providers", PartState.OK, "no breaker is open")


def checked(world: World) -> list[Invariant]:
    """What the loss detector looks for here."""
    looked_for = {Invariant.BODY_LOST: world.log_apart, Invariant.OUTSIDE_WINDOW: world.tuning.enforce_window}
    return [one for one in Invariant if looked_for.get(one, True)]

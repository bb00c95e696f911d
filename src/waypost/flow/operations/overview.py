"""The overview for operators: recent activity, waiting messages and the state of each component."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from waypost.flow.world import World
from waypost.model.chat import FeedName
from waypost.model.consumer import Consumer
from waypost.model.gate import GateKind
from waypost.model.ids import OrgId
from waypost.model.message import Status
from waypost.model.overview import Component, ComponentState
from waypost.model.queue_stats import WaitingMessages
from waypost.model.time import Instant, Span, as_seconds
from waypost.ports.operations.invariants import Invariant
from waypost.ports.platform.failure import LedgerError
from waypost.rules.operations.overview import OverviewSeries, course
from waypost.rules.operations.why import SILENT_AFTER

LOOKED_AT = 1_000
"""How many messages of each status, and team feed items, are read at most."""
COUNTED = 10_000
PATIENCE = 2.0
"""How many seconds the history store has to answer."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    at: Instant
    course: OverviewSeries
    looked_at: int
    waiting: Sequence[WaitingMessages]
    counts: Mapping[Status, int]
    parts: Sequence[Component]
    last_detector_run_at: Instant | None


async def overview(org: OrgId, span: Span, world: World) -> Overview:
    now, ledger = world.clock.now(), world.ledger
    lately = await ledger.queue_stats.lately(org, LOOKED_AT)
    return Overview(
        at=now,
        course=course(lately, span, now),
        looked_at=len(lately.messages),
        waiting=await ledger.queue_stats.waiting(org, now),
        counts=(await ledger.operator_reads.tally(org, 0, COUNTED)).counts,
        parts=await parts(org, world),
        last_detector_run_at=await ledger.operator_reads.detector_ran_at(),
    )


async def parts(org: OrgId, world: World) -> list[Component]:
    return [
        await _database(world),
        await _history(org, world),
        await _workers(world),
        await _providers(org, world),
        Component(
            "bot",
            ComponentState.OFF if world.bot is None else ComponentState.OK,
            "none" if world.bot is None else "answers",
        ),
    ]


async def _database(world: World) -> Component:
    began = world.clock.monotonic()
    await world.ledger.ping()
    return Component("database", ComponentState.OK, f"answers in {(world.clock.monotonic() - began) * 1000:.0f} ms")


async def _history(org: OrgId, world: World) -> Component:
    if not world.history_separate:
        return Component("history", ComponentState.OK, "in the database")
    try:
        async with asyncio.timeout(PATIENCE):
            await world.history.ping()
    except (LedgerError, TimeoutError) as away:
        return Component(
            "history", ComponentState.TROUBLE, f"does not answer; messages wait to be archived: {away}".rstrip(": ")
        )
    behind = await world.ledger.feed_consumers.position_of(Consumer.ARCHIVE, [FeedName(f"team:{org}")])
    return Component(
        "history", ComponentState.OK, f"{sum(one.head - one.read for one in behind)} items wait to be archived"
    )


async def _workers(world: World) -> Component:
    seen_at = await world.ledger.operator_reads.worker_seen_at()
    if seen_at is None:
        return Component("workers", ComponentState.TROUBLE, "none has ever run on this database")
    quiet_for = max(0, world.clock.now() - seen_at)
    state = ComponentState.OK if quiet_for <= SILENT_AFTER else ComponentState.TROUBLE
    return Component("workers", state, f"one was seen {as_seconds(quiet_for):.0f} s ago")


async def _providers(org: OrgId, world: World) -> Component:
    closed = await world.ledger.gates.closed(org, world.clock.now())
    broken = [gate for gate in closed if gate.kind is GateKind.BREAKER]
    if broken:
        names = ", ".join(f"{gate.name} ({gate.reason})" for gate in broken)
        return Component("providers", ComponentState.TROUBLE, f"sending is interrupted: {names}")
    return Component("providers", ComponentState.OK, "no breaker is open")


def checked(world: World) -> list[Invariant]:
    """The invariants that are checked with these settings."""
    looked_for = {Invariant.BODY_LOST: world.history_separate, Invariant.OUTSIDE_WINDOW: world.tuning.enforce_window}
    return [one for one in Invariant if looked_for.get(one, True)]

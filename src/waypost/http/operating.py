"""/api/v1/outbound: quota, gates, session windows, figures, dead letters."""

from __future__ import annotations

from typing import Annotated

from litestar import Router, get, post, put
from litestar.di import Provide
from litestar.params import Body, FromPath, PathParameter, QueryParameter

from waypost.flow import dead_letters, policy
from waypost.flow.audit import actor_of
from waypost.http.context import Asking, Here, admin, reader, writer
from waypost.http.documented import QUOTA_EXAMPLES, REPLAY_EXAMPLES, problems
from waypost.http.operating_views import (
    DeadLetters,
    GateList,
    GateView,
    QuotaView,
    ReplayDeadLetters,
    ReplayedView,
    SetQuota,
    StatsView,
    WindowView,
    gate_view,
    quota_view,
    stats_view,
    window_view,
)
from waypost.http.outbound import LARGEST_ID, read_all_back
from waypost.http.problems import Problem
from waypost.http.spend import spent_this_month
from waypost.model.gate import GateId
from waypost.model.ids import MessageId
from waypost.ports.gates import Closed
from waypost.rules import recipient

LONGEST_ADDRESS = 160
"""Of a customer: more than the longest user id has."""


@get("/quota", summary="What the org may still send", responses=problems())
async def get_quota(caller: Asking, world: Here) -> QuotaView:
    return quota_view(await policy.quota_of(caller.org_id, world))


@put(
    "/quota",
    dependencies={"caller": Provide(admin)},
    summary="Change what the org may send in 24 hours",
    responses=problems(400, 413, 422),
)
async def set_quota(data: Annotated[SetQuota, Body(examples=QUOTA_EXAMPLES)], caller: Asking, world: Here) -> QuotaView:
    """A higher limit frees what waits at once."""
    return quota_view(await policy.set_quota(caller.org_id, data.quota_limit, world, actor_of(caller)))


@get("/gates", summary="What is closed, why, and who waits", responses=problems())
async def list_gates(caller: Asking, world: Here) -> GateList:
    found = await world.ledger.gates.of_org(caller.org_id, world.clock.now())
    return GateList([gate_view(closed) for closed in found])


@post(
    "/gates/{gate_id:int}/release",
    status_code=200,
    dependencies={"caller": Provide(admin)},
    summary="Open a gate, once its cause is gone",
    responses=problems(404, 409),
)
async def release_gate(
    gate_id: Annotated[int, PathParameter(description="A gate's id")], caller: Asking, world: Here
) -> GateView:
    """What waits behind it goes at once; if the cause is still there, the gate closes again."""
    possible = 0 < gate_id <= LARGEST_ID
    released = (
        await policy.release(caller.org_id, GateId(gate_id), world, actor_of(caller)) if possible else policy.NoGate()
    )
    if isinstance(released, policy.Disabled):
        detail = f"number {released.number} is disabled: PATCH /api/v1/numbers/{released.number} with enabled true"
        raise Problem(409, "number_disabled", detail)
    if isinstance(released, policy.NoGate):
        raise Problem(404, "not_found", "this org has no such closed gate")
    return gate_view(Closed(released.gate, 0))


@get("/session-windows/{phone:str}", summary="May this customer be answered freely?", responses=problems(404))
async def get_window(phone: FromPath[str], caller: Asking, world: Here) -> WindowView:
    """A customer who never wrote has no open window."""
    region = (await world.policies.of(caller.org_id)).default_region
    customer = recipient.address(phone, region) if len(phone) <= LONGEST_ADDRESS else None
    if not isinstance(customer, str):
        raise Problem(404, "not_found", "that is not a phone number: 7 to 15 digits, with + written as %2B or left out")
    return window_view(customer, await policy.window_with(caller.org_id, customer, world))


@get("/stats", summary="Counts, retries, times and spend", responses=problems())
async def get_stats(caller: Asking, world: Here) -> StatsView:
    figures = await policy.figures_of(caller.org_id, world)
    return stats_view(figures, await spent_this_month(caller.org_id, world))


ErrorCode = Annotated[str | None, QueryParameter(name="errorCode", min_length=1, max_length=255, required=False)]


@get("/dead-letters", summary="Messages that ended FAILED", responses=problems(400))
async def list_dead_letters(
    caller: Asking,
    world: Here,
    error_code: ErrorCode = None,
    before: Annotated[
        int | None, QueryParameter(ge=1, le=LARGEST_ID, required=False, description="Only ids below this one")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> DeadLetters:
    """Newest first."""
    if error_code is not None and "\x00" in error_code:
        return DeadLetters([])
    below = None if before is None else MessageId(before)
    found = await world.ledger.messages.dead(caller.org_id, error_code, below, limit)
    return DeadLetters(await read_all_back(found, world))


@post(
    "/dead-letters/replay",
    status_code=200,
    dependencies={"caller": Provide(writer)},
    summary="Send failed messages again",
    responses=problems(400, 413, 422),
)
async def replay_dead_letters(
    data: Annotated[ReplayDeadLetters, Body(examples=REPLAY_EXAMPLES)], caller: Asking, world: Here
) -> ReplayedView:
    """Each begins a new generation: tries counted from 0, due now."""
    ids = None if data.ids is None else [MessageId(each) for each in data.ids]
    wish = dead_letters.Replay(org_id=caller.org_id, actor=actor_of(caller), ids=ids, error_code=data.error_code)
    replayed = await dead_letters.replay(wish, world)
    return ReplayedView(replayed.count, replayed.more)


router = Router(
    "/api/v1/outbound",
    dependencies={"caller": Provide(reader)},
    tags=["Outbound"],
    route_handlers=[
        get_quota,
        set_quota,
        list_gates,
        release_gate,
        get_window,
        get_stats,
        list_dead_letters,
        replay_dead_letters,
    ],
)

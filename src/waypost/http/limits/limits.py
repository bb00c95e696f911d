"""/api/v1/outbound: quota, gates, session windows, statistics, dead letters."""

from __future__ import annotations

from typing import Annotated

from litestar import Router, get, post, put
from litestar.di import Provide
from litestar.params import Body, FromPath, PathParameter, QueryParameter

from waypost.flow.operations import limits_admin
from waypost.flow.operations.audit import actor_of
from waypost.flow.sending import dead_letters
from waypost.http.edge.context import CurrentCaller, CurrentWorld, admin, reader, writer
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.http.limits.examples import QUOTA_EXAMPLES
from waypost.http.limits.limit_views import (
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
from waypost.http.limits.spend import spent_this_month
from waypost.http.sending.examples import REPLAY_EXAMPLES
from waypost.http.sending.outbound import LARGEST_ID, messages_with_deferrals
from waypost.model.gate import GateId
from waypost.model.ids import MessageId
from waypost.ports.limits.gates import ClosedGate
from waypost.rules.content import recipient

LONGEST_ADDRESS = 160
"""Characters of a customer's address; longer than any user id."""


@get("/quota", summary="The org's quota", responses=problems())
async def get_quota(caller: CurrentCaller, world: CurrentWorld) -> QuotaView:
    return quota_view(await limits_admin.quota_of(caller.org_id, world))


@put(
    "/quota",
    dependencies={"caller": Provide(admin)},
    summary="Change the quota for 24 hours",
    responses=problems(400, 413, 422),
)
async def set_quota(
    data: Annotated[SetQuota, Body(examples=QUOTA_EXAMPLES)], caller: CurrentCaller, world: CurrentWorld
) -> QuotaView:
    """Raising the limit releases waiting messages immediately."""
    return quota_view(await limits_admin.set_quota(caller.org_id, data.quota_limit, world, actor_of(caller)))


@get("/gates", summary="Closed gates", responses=problems())
async def list_gates(caller: CurrentCaller, world: CurrentWorld) -> GateList:
    found = await limits_admin.closed_gates(caller.org_id, world)
    return GateList([gate_view(closed) for closed in found])


@post(
    "/gates/{gate_id:int}/release",
    status_code=200,
    dependencies={"caller": Provide(admin)},
    summary="Release a gate",
    responses=problems(404, 409),
)
async def release_gate(
    gate_id: Annotated[int, PathParameter(description="A gate's id")], caller: CurrentCaller, world: CurrentWorld
) -> GateView:
    """Messages behind it are sent at once; if the cause remains, the gate closes again."""
    possible = 0 < gate_id <= LARGEST_ID
    released = (
        await limits_admin.release(caller.org_id, GateId(gate_id), world, actor_of(caller))
        if possible
        else limits_admin.GateNotFound()
    )
    if isinstance(released, limits_admin.NumberDisabled):
        detail = f"number {released.number} is disabled: PATCH /api/v1/numbers/{released.number} with enabled true"
        raise Problem(409, "number_disabled", detail)
    if isinstance(released, limits_admin.GateNotFound):
        raise Problem(404, "not_found", "this org has no such closed gate")
    return gate_view(ClosedGate(released.gate, 0))


@get("/session-windows/{phone:str}", summary="A customer's 24-hour window", responses=problems(404))
async def get_window(phone: FromPath[str], caller: CurrentCaller, world: CurrentWorld) -> WindowView:
    """A customer who never wrote has no open window."""
    region = (await world.policies.of(caller.org_id)).default_region
    customer = recipient.address(phone, region) if len(phone) <= LONGEST_ADDRESS else None
    if not isinstance(customer, str):
        raise Problem(404, "not_found", "not a phone number: send 7 to 15 digits, with + written as %2B or omitted")
    return window_view(customer, await limits_admin.window_with(caller.org_id, customer, world))


@get("/stats", summary="Counts, retries, times and spend", responses=problems())
async def get_stats(caller: CurrentCaller, world: CurrentWorld) -> StatsView:
    figures = await limits_admin.figures_of(caller.org_id, world)
    return stats_view(figures, await spent_this_month(caller.org_id, world))


ErrorCodeQuery = Annotated[str | None, QueryParameter(name="errorCode", min_length=1, max_length=255, required=False)]


@get("/dead-letters", summary="Messages that FAILED", responses=problems(400))
async def list_dead_letters(
    caller: CurrentCaller,
    world: CurrentWorld,
    error_code: ErrorCodeQuery = None,
    before: Annotated[
        int | None, QueryParameter(ge=1, le=LARGEST_ID, required=False, description="Only ids below this one")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> DeadLetters:
    """Newest first."""
    if error_code is not None and "\x00" in error_code:
        return DeadLetters([])
    below = None if before is None else MessageId(before)
    found = await dead_letters.dead_letters(caller.org_id, error_code, below, limit, world)
    return DeadLetters(await messages_with_deferrals(found, world))


@post(
    "/dead-letters/replay",
    status_code=200,
    dependencies={"caller": Provide(writer)},
    summary="Send failed messages again",
    responses=problems(400, 413, 422),
)
async def replay_dead_letters(
    data: Annotated[ReplayDeadLetters, Body(examples=REPLAY_EXAMPLES)], caller: CurrentCaller, world: CurrentWorld
) -> ReplayedView:
    """Each message starts a new generation: attempts are counted from 0, due now."""
    ids = None if data.ids is None else [MessageId(each) for each in data.ids]
    request = dead_letters.ReplayRequest(
        org_id=caller.org_id, actor=actor_of(caller), ids=ids, error_code=data.error_code
    )
    replayed = await dead_letters.replay(request, world)
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

"""/api/v1/overview and /api/v1/settings: activity, component health and the settings in force."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec
from litestar import Router, get
from litestar.di import Provide
from litestar.params import QueryParameter

from waypost.flow.operations import overview
from waypost.flow.operations.overview import LOOKED_AT, Overview
from waypost.http.edge.context import CurrentCaller, CurrentHost, CurrentWorld, admin, reader
from waypost.http.edge.route_docs import problems
from waypost.http.sending.views import format_time
from waypost.model.overview import Component, ComponentState
from waypost.model.queue_stats import WaitingMessages
from waypost.model.setting import SettingInForce
from waypost.model.time import as_seconds, minutes, to_datetime
from waypost.rules.operations.figures import Percentiles
from waypost.rules.operations.overview import OverviewInterval


class StepView(msgspec.Struct, kw_only=True):
    at: datetime
    received: int
    sent: int
    delivered: int
    failed: int
    queued_to_sent_seconds: Percentiles
    sent_to_delivered_seconds: Percentiles
    queue_age_seconds: float
    """The longest wait at the end of the interval."""


class WaitingView(msgspec.Struct, kw_only=True):
    """Due messages with the same `deferredBy`; `none`: they wait for a free worker."""

    reason: str
    messages: int
    oldest_at: datetime


class PartView(msgspec.Struct, kw_only=True):
    name: str
    state: ComponentState
    detail: str


class InvariantView(msgspec.Struct, kw_only=True):
    """An invariant, and how often it was found violated since this server started."""

    name: str
    violations: int


class Invariants(msgspec.Struct, kw_only=True):
    looked_at: datetime | None
    """When a worker last checked; null if never."""
    checked: list[InvariantView]


class OverviewView(msgspec.Struct, kw_only=True):
    at: datetime
    since: datetime
    """The figures are complete from here on: an hour ago, or where the newest 1000 messages of a status, or the
    newest items of the team's feed, begin."""
    step_seconds: float
    steps: list[StepView]
    """Oldest first; the last one is not over yet."""
    queued_to_sent_seconds: Percentiles
    sent_to_delivered_seconds: Percentiles
    looked_at: int
    """Messages."""
    looked_at_most: int
    """For each status."""
    counts: dict[str, int]
    """By status, for all messages, each up to 10000."""
    waiting: list[WaitingView]
    parts: list[PartView]
    invariants: Invariants


def _step(step: OverviewInterval) -> StepView:
    return StepView(
        at=to_datetime(step.at),
        received=step.received,
        sent=step.sent,
        delivered=step.delivered,
        failed=step.failed,
        queued_to_sent_seconds=step.queued_to_sent,
        sent_to_delivered_seconds=step.sent_to_delivered,
        queue_age_seconds=step.queue_age,
    )


def _waiting(waiting: WaitingMessages) -> WaitingView:
    return WaitingView(reason=waiting.reason, messages=waiting.messages, oldest_at=to_datetime(waiting.oldest_at))


def _view(found: Overview, parts: Sequence[Component], invariants: Invariants) -> OverviewView:
    course = found.course
    return OverviewView(
        at=to_datetime(found.at),
        since=to_datetime(course.since),
        step_seconds=as_seconds(course.width),
        steps=[_step(step) for step in course.steps],
        queued_to_sent_seconds=course.queued_to_sent,
        sent_to_delivered_seconds=course.sent_to_delivered,
        looked_at=found.looked_at,
        looked_at_most=LOOKED_AT,
        counts={status.value: count for status, count in found.counts.items()},
        waiting=[_waiting(each) for each in found.waiting],
        parts=[PartView(name=part.name, state=part.state, detail=part.detail) for part in parts],
        invariants=invariants,
    )


@get("/overview", summary="Activity and component health", responses=problems(400))
async def get_overview(
    caller: CurrentCaller,
    world: CurrentWorld,
    host: CurrentHost,
    span: Annotated[int, QueryParameter(name="minutes", ge=1, le=180, description="How far back")] = 60,
) -> OverviewView:
    """Read from the database, so that it covers all servers; the cost does not grow with the number of messages."""
    found = await overview.overview(caller.org_id, minutes(span), world)
    violations = await host.violations()
    invariants = Invariants(
        looked_at=format_time(found.last_detector_run_at),
        checked=[InvariantView(name=one, violations=violations.get(one, 0)) for one in overview.checked(world)],
    )
    return _view(found, [*found.parts, *await host.parts()], invariants)


class SettingList(msgspec.Struct):
    content: list[SettingInForce]


@get(
    "/settings",
    dependencies={"caller": Provide(admin)},
    summary="The settings in force, and where each comes from",
    responses=problems(),
)
async def get_settings(
    caller: CurrentCaller,  # noqa: ARG001  # requires an admin
    host: CurrentHost,
) -> SettingList:
    """For this server. A secret shows no `value`, only whether it is `given`."""
    return SettingList(await host.settings_in_force())


router = Router(
    "/api/v1",
    dependencies={"caller": Provide(reader)},
    tags=["Operating"],
    route_handlers=[get_overview, get_settings],
)

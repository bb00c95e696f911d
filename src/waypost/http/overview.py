"""/api/v1/overview and /api/v1/settings: what is going on, how every part is, and what the server was told to do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec
from litestar import Router, get
from litestar.di import Provide
from litestar.params import QueryParameter

from waypost.flow import overview
from waypost.flow.overview import LOOKED_AT, Overview
from waypost.http.context import Asking, Here, Hosting, admin, reader
from waypost.http.documented import problems
from waypost.http.views import shown
from waypost.model.figures import Waiting
from waypost.model.overview import Part, PartState
from waypost.model.setting import SettingInForce
from waypost.model.time import as_seconds, minutes, to_datetime
from waypost.rules.figures import Spread
from waypost.rules.overview import Step


class StepView(msgspec.Struct, kw_only=True):
    at: datetime
    received: int
    sent: int
    delivered: int
    failed: int
    queued_to_sent_seconds: Spread
    sent_to_delivered_seconds: Spread
    queue_age_seconds: float
    """How long the one that waited longest had waited at its end."""


class WaitingView(msgspec.Struct, kw_only=True):
    """Due messages that wait for the same thing, as `deferredBy` says it; `none`: for a free worker."""

    reason: str
    messages: int
    oldest_at: datetime


class PartView(msgspec.Struct, kw_only=True):
    name: str
    state: PartState
    detail: str


class InvariantView(msgspec.Struct, kw_only=True):
    """Something that must never be, and how often it was found since this server started."""

    name: str
    violations: int


class Invariants(msgspec.Struct, kw_only=True):
    looked_at: datetime | None
    """When a worker last looked; null: none has."""
    checked: list[InvariantView]


class OverviewView(msgspec.Struct, kw_only=True):
    at: datetime
    since: datetime
    """From here on nothing is left out: an hour ago, or where the newest 1000 messages of a status, or
    of what the team was told, begin."""
    step_seconds: float
    steps: list[StepView]
    """Oldest first; the last one is going on."""
    queued_to_sent_seconds: Spread
    sent_to_delivered_seconds: Spread
    looked_at: int
    """Messages."""
    looked_at_most: int
    """Of each status."""
    counts: dict[str, int]
    """By status, of all messages, each up to 10000."""
    waiting: list[WaitingView]
    parts: list[PartView]
    invariants: Invariants


def _step(step: Step) -> StepView:
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


def _waiting(waiting: Waiting) -> WaitingView:
    return WaitingView(reason=waiting.reason, messages=waiting.messages, oldest_at=to_datetime(waiting.oldest_at))


def _view(found: Overview, parts: Sequence[Part], invariants: Invariants) -> OverviewView:
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


@get("/overview", summary="What is going on, and how every part is", responses=problems(400))
async def get_overview(
    caller: Asking,
    world: Here,
    host: Hosting,
    span: Annotated[int, QueryParameter(name="minutes", ge=1, le=180, description="How far back")] = 60,
) -> OverviewView:
    """From the database, so that it is true for any number of servers; as cheap in front of a million messages."""
    found = await overview.overview(caller.org_id, minutes(span), world)
    violations = await host.violations()
    invariants = Invariants(
        looked_at=shown(found.looked_for_losses_at),
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
    caller: Asking,  # noqa: ARG001  # an admin, or nobody
    host: Hosting,
) -> SettingList:
    """Of this server. A secret has no `value` here, only whether it is `given`."""
    return SettingList(await host.settings_in_force())


router = Router(
    "/api/v1",
    dependencies={"caller": Provide(reader)},
    tags=["Operating"],
    route_handlers=[get_overview, get_settings],
)

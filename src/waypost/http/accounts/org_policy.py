"""/api/v1/policy: the org's own settings, for its admins."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar import Router, get, patch, put
from litestar.di import Provide
from litestar.openapi.spec import Example
from litestar.params import Body

from waypost.flow.accounts import policies
from waypost.flow.accounts.policies import PolicyChanged
from waypost.flow.operations.audit import actor_of
from waypost.flow.policy_cache import turns_of
from waypost.http.edge.context import CurrentCaller, CurrentWorld, admin
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.model.policy import Policy, RequestRate, Turns
from waypost.model.time import days
from waypost.rules.accounts.policy import InvalidPolicy

_QUIET = {"from": "21:00", "to": "08:00", "timezone": "Europe/Berlin", "exemptPriority": 9}
_MONEY = {
    "priceList": {
        "currency": "EUR",
        "prices": [
            {"country": "49", "category": "marketing", "amount": "0.1131"},
            {"country": "*", "category": "utility", "amount": "0.0456"},
        ],
    },
    "budget": {"amount": "500", "period": "month"},
}
_WHOLE = [Example(id="policy", summary="Quiet nights and a budget", value={"quietHours": _QUIET, **_MONEY})]
_PART = [Example(id="change", summary="No quiet hours any more", value={"quietHours": None})]


class PolicyInForce(msgspec.Struct, rename="camel", kw_only=True):
    """The values in force where the org has set none."""

    backoff_minutes: list[float]
    unsure: str
    request_rate: RequestRate | None
    default_region: str | None
    turns: Turns
    history_days: float


class PolicyView(msgspec.Struct, rename="camel", kw_only=True):
    policy: Policy
    """What the org has set; the default applies to everything else."""
    defaults: PolicyInForce


def _view(policy: Policy, world: CurrentWorld) -> PolicyView:
    defaults = world.tuning.defaults
    in_force = PolicyInForce(
        backoff_minutes=[step / 60_000_000 for step in defaults.backoff.steps],
        unsure=defaults.unsure.value,
        request_rate=defaults.request_rate,
        default_region=defaults.default_region,
        turns=turns_of(defaults.turns),
        history_days=0 if defaults.history_retention is None else defaults.history_retention / days(1),
    )
    return PolicyView(policy=policy, defaults=in_force)


def _answered(answer: policies.PolicyResult, world: CurrentWorld) -> PolicyView:
    if isinstance(answer, PolicyChanged):
        return _view(answer.after, world)
    if isinstance(answer, InvalidPolicy):
        field = answer.field or None
        raise Problem(422, "invalid_policy", f"{field}: {answer.reason}" if field else answer.reason, field=field)
    raise Problem(409, "policy_contested", "the policy was changed at the same time: read it and try again")


@get("/policy", summary="The org's policy", responses=problems())
async def get_policy(caller: CurrentCaller, world: CurrentWorld) -> PolicyView:
    return _view(await policies.policy(caller.org_id, world), world)


@put("/policy", summary="Replace the policy", responses=problems(400, 409, 413, 422))
async def put_policy(
    data: Annotated[Policy, Body(examples=_WHOLE)], caller: CurrentCaller, world: CurrentWorld
) -> PolicyView:
    """Omitted settings return to the server's default."""
    return _answered(await policies.replace_policy(caller.org_id, data, world, actor_of(caller)), world)


@patch("/policy", summary="Change part of the policy", responses=problems(400, 409, 413, 422))
async def patch_policy(
    data: Annotated[dict[str, Any], Body(examples=_PART)], caller: CurrentCaller, world: CurrentWorld
) -> PolicyView:
    """A JSON merge patch: null removes a setting, omitted settings stay."""
    return _answered(await policies.merge_policy(caller.org_id, data, world, actor_of(caller)), world)


router = Router(
    "/api/v1",
    dependencies={"caller": Provide(admin)},
    tags=["Policy"],
    route_handlers=[get_policy, put_policy, patch_policy],
)

"""/api/v1/policy: what an org sets for itself, for its admins."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar import Router, get, patch, put
from litestar.di import Provide
from litestar.openapi.spec import Example
from litestar.params import Body

from waypost.flow import policies
from waypost.flow.audit import actor_of
from waypost.flow.policies import Changed
from waypost.flow.policy_book import turns_of
from waypost.http.context import Asking, Here, admin
from waypost.http.documented import problems
from waypost.http.problems import Problem
from waypost.model.policy import Policy, RequestRate, Turns
from waypost.model.time import days
from waypost.rules.policy import Invalid

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
_PART = [Example(id="change", summary="A new budget, and no quiet hours any more", value={"quietHours": None})]


class PolicyInForce(msgspec.Struct, rename="camel", kw_only=True):
    """What holds where the org has set nothing."""

    backoff_minutes: list[float]
    unsure: str
    request_rate: RequestRate | None
    default_region: str | None
    turns: Turns
    history_days: float


class PolicyView(msgspec.Struct, rename="camel", kw_only=True):
    policy: Policy
    """What the org has set; whatever is not in it is the default."""
    defaults: PolicyInForce


def _view(policy: Policy, world: Here) -> PolicyView:
    defaults = world.tuning.defaults
    told = PolicyInForce(
        backoff_minutes=[step / 60_000_000 for step in defaults.backoff.steps],
        unsure=defaults.unsure.value,
        request_rate=defaults.request_rate,
        default_region=defaults.default_region,
        turns=turns_of(defaults.turns),
        history_days=0 if defaults.log_kept is None else defaults.log_kept / days(1),
    )
    return PolicyView(policy=policy, defaults=told)


def _answered(answer: policies.Answer, world: Here) -> PolicyView:
    if isinstance(answer, Changed):
        return _view(answer.after, world)
    if isinstance(answer, Invalid):
        field = answer.field or None
        raise Problem(422, "invalid_policy", f"{field}: {answer.reason}" if field else answer.reason, field=field)
    raise Problem(409, "policy_contested", "others are changing the policy at the same time: read it and try again")


@get("/policy", summary="What the org has set for itself", responses=problems())
async def get_policy(caller: Asking, world: Here) -> PolicyView:
    return _view(await world.ledger.policies.get(caller.org_id), world)


@put("/policy", summary="Replace the policy", responses=problems(400, 409, 413, 422))
async def put_policy(data: Annotated[Policy, Body(examples=_WHOLE)], caller: Asking, world: Here) -> PolicyView:
    """Whatever is left out is back to the server's default."""
    return _answered(await policies.replace_policy(caller.org_id, data, world, actor_of(caller)), world)


@patch("/policy", summary="Change a part of the policy", responses=problems(400, 409, 413, 422))
async def patch_policy(
    data: Annotated[dict[str, Any], Body(examples=_PART)], caller: Asking, world: Here
) -> PolicyView:
    """A JSON merge patch: null takes a setting away, what is not named stays."""
    return _answered(await policies.merge_policy(caller.org_id, data, world, actor_of(caller)), world)


router = Router(
    "/api/v1",
    dependencies={"caller": Provide(admin)},
    tags=["Policy"],
    route_handlers=[get_policy, put_policy, patch_policy],
)

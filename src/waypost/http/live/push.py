"""/api/v1: subscriptions for push notifications (Web Push)."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Router, delete, get, post
from litestar.di import Provide
from litestar.params import FromPath, JSONBody
from msgspec import Meta

from waypost.flow.live import devices
from waypost.http.edge.context import CurrentCaller, CurrentWorld, reader
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.http.live.long_poll import user_of
from waypost.model.chat import DeviceId
from waypost.model.push import Subscription
from waypost.rules.live.push_subscription import LONGEST_ENDPOINT, subscription_fault


class PushKeys(msgspec.Struct):
    p256dh: Annotated[str, Meta(max_length=200)]
    auth: Annotated[str, Meta(max_length=100)]


class PushSubscription(msgspec.Struct, rename="camel"):
    """As the browser's `PushSubscription.toJSON()` gives it."""

    endpoint: Annotated[str, Meta(max_length=LONGEST_ENDPOINT)]
    keys: PushKeys
    expiration_time: float | None = None
    """Ignored: the push service reports ended subscriptions."""


class PushKeyView(msgspec.Struct):
    public_key: str | None
    """The browser's `applicationServerKey`; null when push notifications are not configured."""


@get("/push-key", summary="The key for push subscriptions", responses=problems())
async def push_key(caller: CurrentCaller, world: CurrentWorld) -> PushKeyView:  # noqa: ARG001  # authenticates the caller
    return PushKeyView(world.pusher.public_key if world.pusher is not None else None)


@post(
    "/devices/{device_id:str}/push",
    status_code=204,
    summary="Subscribe a device to push notifications",
    responses=problems(400, 403, 404, 409, 413, 422),
)
async def subscribe(
    device_id: FromPath[str],
    data: JSONBody[PushSubscription | None],
    caller: CurrentCaller,
    world: CurrentWorld,
) -> None:
    """Replaces the device's subscription; null ends it. The device must have connected before."""
    user = user_of(caller)
    if data is not None and world.pusher is None:
        raise Problem(409, "push_off", "push notifications are not configured (set WAYPOST_PUSH_CONTACT)")
    wanted = None if data is None else Subscription(data.endpoint, data.keys.p256dh, data.keys.auth)
    fault = wanted and subscription_fault(wanted, world.tuning.push_reach)
    if fault:
        raise Problem(422, "invalid_payload", fault, field="endpoint" if "endpoint" in fault else "keys")
    if not await devices.subscribe(user, DeviceId(device_id), wanted, world):
        raise _unknown()


@delete("/devices/{device_id:str}/push", status_code=204, summary="Unsubscribe a device", responses=problems(403, 404))
async def unsubscribe(device_id: FromPath[str], caller: CurrentCaller, world: CurrentWorld) -> None:
    if not await devices.subscribe(user_of(caller), DeviceId(device_id), None, world):
        raise _unknown()


def _unknown() -> Problem:
    return Problem(404, "not_found", "you have no such device: connect it by WebSocket or /sync first")


router = Router(
    "/api/v1",
    dependencies={"caller": Provide(reader)},
    tags=["Live"],
    route_handlers=[push_key, subscribe, unsubscribe],
)

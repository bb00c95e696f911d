"""/api/v1: where a device that is away is told that a message waits (Web Push)."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Router, delete, get, post
from litestar.di import Provide
from litestar.params import FromPath, JSONBody
from msgspec import Meta

from waypost.flow import devices
from waypost.http.context import Asking, Here, reader
from waypost.http.documented import problems
from waypost.http.problems import Problem
from waypost.http.sync import user_of
from waypost.model.chat import DeviceId
from waypost.model.push import Subscription
from waypost.rules.push_subscription import LONGEST_ENDPOINT, subscription_fault


class PushKeys(msgspec.Struct):
    p256dh: Annotated[str, Meta(max_length=200)]
    auth: Annotated[str, Meta(max_length=100)]


class PushSubscription(msgspec.Struct, rename="camel"):
    """As a browser writes it."""

    endpoint: Annotated[str, Meta(max_length=LONGEST_ENDPOINT)]
    keys: PushKeys
    expiration_time: float | None = None
    """Not needed: a push service says when a subscription has ended."""


class PushKeyView(msgspec.Struct):
    public_key: str | None
    """What a browser subscribes with, `applicationServerKey`; null where nobody who is away is told."""


@get("/push-key", summary="What a browser subscribes with", responses=problems())
async def push_key(caller: Asking, world: Here) -> PushKeyView:  # noqa: ARG001  # whoever asks is authenticated
    return PushKeyView(world.pusher.public_key if world.pusher is not None else None)


@post(
    "/devices/{device_id:str}/push",
    status_code=204,
    summary="Tell a device that is away",
    responses=problems(400, 403, 404, 409, 413, 422),
)
async def subscribe(
    device_id: FromPath[str],
    data: JSONBody[PushSubscription | None],
    caller: Asking,
    world: Here,
) -> None:
    """A browser's subscription takes the place of the one before; null ends it. The device must have said hello."""
    user = user_of(caller)
    if data is not None and world.pusher is None:
        raise Problem(409, "push_off", "this server tells nobody who is away: its operator sets WAYPOST_PUSH_CONTACT")
    wanted = None if data is None else Subscription(data.endpoint, data.keys.p256dh, data.keys.auth)
    fault = wanted and subscription_fault(wanted, world.tuning.push_reach)
    if fault:
        raise Problem(422, "invalid_payload", fault, field="endpoint" if "endpoint" in fault else "keys")
    if not await devices.subscribe(user, DeviceId(device_id), wanted, world):
        raise _unknown()


@delete("/devices/{device_id:str}/push", status_code=204, summary="Leave a device alone", responses=problems(403, 404))
async def unsubscribe(device_id: FromPath[str], caller: Asking, world: Here) -> None:
    if not await devices.subscribe(user_of(caller), DeviceId(device_id), None, world):
        raise _unknown()


def _unknown() -> Problem:
    return Problem(404, "not_found", "you have no such device: it says hello on the socket or by /sync first")


router = Router(
    "/api/v1",
    dependencies={"caller": Provide(reader)},
    tags=["Live"],
    route_handlers=[push_key, subscribe, unsubscribe],
)

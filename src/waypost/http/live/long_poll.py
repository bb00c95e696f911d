"""/api/v1: the long poll with the socket's items, a user's devices, and presence."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Router, delete, get
from litestar.di import Provide
from litestar.params import FromPath, QueryParameter

from waypost.flow.accounts import access
from waypost.flow.conversations import archived_bodies
from waypost.flow.live import devices
from waypost.flow.live.devices import DeviceHello, DeviceSession
from waypost.flow.live.follow import Tails
from waypost.http.edge.context import CurrentCaller, CurrentHost, CurrentWorld, reader
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.http.live import frames
from waypost.http.live.frames import FrameBatch
from waypost.model.account import Caller
from waypost.model.chat import DeviceId, FeedName
from waypost.model.ids import UserId
from waypost.model.time import to_datetime
from waypost.ports.conversations.chats import CursorAck
from waypost.ports.platform.hints import DEVICE, REMOVED

PAGE = 200
LONGEST_WAIT = 60
_cursors = msgspec.json.Decoder(dict[str, Annotated[int, msgspec.Meta(ge=0, le=2**62)]])


class SyncView(msgspec.Struct, kw_only=True):
    epoch: str
    heads: dict[FeedName, int]
    """The last seq of each feed after these items: the device's next cursors."""
    items: list[dict[str, Any]]
    resync_required: bool
    has_more: bool = False
    """More items are available: ask again at once."""


class DeviceView(msgspec.Struct, kw_only=True):
    device_id: str
    created_at: datetime
    seen_at: datetime
    pushes: bool
    cursors: dict[FeedName, int]


class DeviceList(msgspec.Struct):
    devices: list[DeviceView]


class PresenceView(msgspec.Struct, kw_only=True):
    user_id: str
    state: str


@get("/sync", summary="New items, by long poll", responses=problems(400, 403))
async def sync(
    caller: CurrentCaller,
    world: CurrentWorld,
    host: CurrentHost,
    device_id: Annotated[str, QueryParameter(max_length=200)],
    cursors: Annotated[
        str | None, QueryParameter(max_length=16_384, required=False, description="JSON: feed → seq")
    ] = None,
    epoch: Annotated[str | None, QueryParameter(max_length=64, required=False)] = None,
    wait: Annotated[float, QueryParameter(ge=0, le=LONGEST_WAIT)] = 25,
) -> SyncView:
    """The same items as on the socket; the cursors acknowledge earlier items. Waits while there are none."""
    user = user_of(caller)
    given = _given(cursors)
    if not devices.is_device_id(device_id):
        raise Problem(400, "invalid_parameter", "device_id: 1 to 64 printable characters, no space", field="device_id")
    greeting = DeviceHello(device_id=DeviceId(device_id), epoch=epoch, cursors=given)
    begun = await devices.begin(caller.org_id, user, greeting, world)
    if begun.lost is not None:
        return _answer(begun, begun.heads, [], more=False)
    await _acknowledge(user, begun, given, world)
    return await _next(user, begun, wait, world, host.gateway.tails)


async def _acknowledge(user: UserId, begun: DeviceSession, given: Mapping[str, int], world: CurrentWorld) -> None:
    moved = {feed: seq for feed, seq in begun.cursors.items() if given.get(feed) == seq}
    behind = {feed: seq for feed, seq in moved.items() if begun.device.cursors.get(feed, -1) < seq}
    if behind:
        await devices.acknowledge([CursorAck(user, begun.device.device_id, *each) for each in behind.items()], world)


async def _next(
    user: UserId, begun: DeviceSession, wait: float, world: CurrentWorld, tails: Tails[FrameBatch]
) -> SyncView:
    """Follow the feeds before the first read, so that no item is missed between read and wait."""
    waiter = _Waiter()
    for feed, head in begun.heads.items():
        tails.follow(feed, head, waiter)
    try:
        page = await devices.page(begun.cursors, PAGE, world)
        if not page.items and wait > 0:
            await waiter.stirred(wait, world.closing)
            page = await devices.page(begun.cursors, PAGE, world)
    finally:
        for feed in begun.heads:
            tails.leave(feed, waiter)
    if page.stuck and not page.items:
        raise archived_bodies.history_unavailable(history_separate=world.history_separate)
    heads = dict(begun.cursors)
    mine = frames.items_before_leaving(user, page.items)
    for each in mine:
        heads[FeedName(each.item.feed)] = each.item.seq
    return _answer(begun, heads, [frames.item(each) for each in mine], more=page.full)


class _Waiter:
    """Follows feeds while one request waits."""

    def __init__(self) -> None:
        self._stirred = asyncio.Event()

    def take(self, feed: FeedName, last: int, news: FrameBatch) -> None:  # noqa: ARG002  # only wakes the request
        self._stirred.set()

    async def stirred(self, wait: float, closing: asyncio.Event) -> None:
        both = [asyncio.ensure_future(event.wait()) for event in (self._stirred, closing)]
        try:
            await asyncio.wait(both, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in both:
                each.cancel()


def _answer(
    begun: DeviceSession, heads: Mapping[FeedName, int], items: list[dict[str, Any]], *, more: bool
) -> SyncView:
    return SyncView(
        epoch=begun.device.epoch,
        heads=dict(heads),
        items=items,
        resync_required=begun.lost is not None,
        has_more=more,
    )


def _given(cursors: str | None) -> dict[str, int]:
    try:
        return _cursors.decode(cursors) if cursors else {}
    except msgspec.DecodeError as wrong:
        detail = f'cursors: must be JSON like {{"user:…": 47}}: {wrong}'
        raise Problem(400, "invalid_parameter", detail[:300], field="cursors") from None


def user_of(caller: Caller) -> UserId:
    if caller.user_id is None:
        raise Problem(403, "wrong_role", "this endpoint needs a user token, not an API key")
    return caller.user_id


@get("/devices", summary="The caller's devices", responses=problems(403))
async def list_devices(caller: CurrentCaller, world: CurrentWorld) -> DeviceList:
    found = await devices.devices(user_of(caller), world)
    return DeviceList(
        [
            DeviceView(
                device_id=device.device_id,
                created_at=to_datetime(device.created_at),
                seen_at=to_datetime(device.seen_at),
                pushes=device.push is not None,
                cursors=dict(device.cursors),
            )
            for device in found
        ]
    )


@delete("/devices/{device_id:str}", status_code=204, summary="Remove a device", responses=problems(403, 404))
async def remove_device(device_id: FromPath[str], caller: CurrentCaller, world: CurrentWorld) -> None:
    """Its connection is closed; when it connects again, it must reload everything."""
    user = user_of(caller)
    if not await devices.remove(user, DeviceId(device_id), world):
        raise Problem(404, "not_found", "you have no such device")
    world.hints.give([f"{DEVICE}:{REMOVED} 0 {user} {device_id}"])


@get("/presence", summary="A user's presence", responses=problems(400, 404))
async def presence(
    caller: CurrentCaller, world: CurrentWorld, user_id: Annotated[str, QueryParameter(max_length=64)]
) -> PresenceView:
    if user_id not in {str(user.id) for user in await access.users(caller.org_id, world)}:
        raise Problem(404, "not_found", "this org has no such user")
    state = (await world.presence.of([UserId(user_id)]))[UserId(user_id)]
    return PresenceView(user_id=user_id, state=state.value)


router = Router(
    "/api/v1",
    dependencies={"caller": Provide(reader)},
    tags=["Live"],
    route_handlers=[sync, list_devices, remove_device, presence],
)

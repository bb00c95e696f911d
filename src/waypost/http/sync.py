"""/api/v1: the long poll that brings what the socket brings, a person's devices, and who is here."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Router, delete, get
from litestar.di import Provide
from litestar.params import FromPath, QueryParameter

from waypost.flow import bodies, devices
from waypost.flow.devices import Begun, Greeting
from waypost.flow.follow import Tails
from waypost.http import frames
from waypost.http.context import Asking, Here, Hosting, reader
from waypost.http.documented import problems
from waypost.http.frames import News
from waypost.http.problems import Problem
from waypost.model.account import Caller
from waypost.model.chat import DeviceId, FeedName
from waypost.model.ids import UserId
from waypost.model.time import to_datetime
from waypost.ports.chats import Acked
from waypost.ports.hints import DEVICE, REMOVED

PAGE = 200
LONGEST_WAIT = 60
_cursors = msgspec.json.Decoder(dict[str, Annotated[int, msgspec.Meta(ge=0, le=2**62)]])


class SyncView(msgspec.Struct, kw_only=True):
    epoch: str
    heads: dict[FeedName, int]
    """Where the caller's feeds stand: after these items, they are the device's next cursors."""
    items: list[dict[str, Any]]
    resync_required: bool
    has_more: bool = False
    """Ask again at once."""


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


@get("/sync", summary="What is new, by long poll", responses=problems(400, 403))
async def sync(
    caller: Asking,
    world: Here,
    host: Hosting,
    device_id: Annotated[str, QueryParameter(max_length=200)],
    cursors: Annotated[
        str | None, QueryParameter(max_length=16_384, required=False, description="JSON: feed → seq")
    ] = None,
    epoch: Annotated[str | None, QueryParameter(max_length=64, required=False)] = None,
    wait: Annotated[float, QueryParameter(ge=0, le=LONGEST_WAIT)] = 25,
) -> SyncView:
    """The same items as the socket's; cursors acknowledge what came before them. Waits while there are none."""
    user = user_of(caller)
    given = _given(cursors)
    if not devices.is_device_id(device_id):
        raise Problem(400, "invalid_parameter", "device_id: 1 to 64 printable characters, no space", field="device_id")
    greeting = Greeting(device_id=DeviceId(device_id), epoch=epoch, cursors=given)
    begun = await devices.begin(caller.org_id, user, greeting, world)
    if begun.lost is not None:
        return _answer(begun, begun.heads, [], more=False)
    await _acknowledge(user, begun, given, world)
    return await _next(user, begun, wait, world, host.gateway.tails)


async def _acknowledge(user: UserId, begun: Begun, given: Mapping[str, int], world: Here) -> None:
    moved = {feed: seq for feed, seq in begun.cursors.items() if given.get(feed) == seq}
    behind = {feed: seq for feed, seq in moved.items() if begun.device.cursors.get(feed, -1) < seq}
    if behind:
        await world.ledger.follows.acked([Acked(user, begun.device.device_id, *each) for each in behind.items()])


async def _next(user: UserId, begun: Begun, wait: float, world: Here, tails: Tails[News]) -> SyncView:
    """Register, look, wait, look again: nothing falls between."""
    waiter = _Waiter()
    for feed, head in begun.heads.items():
        tails.follow(feed, head, waiter)
    try:
        page = await devices.page(begun.cursors, PAGE, world)
        if not page.told and wait > 0:
            await waiter.stirred(wait, world.closing)
            page = await devices.page(begun.cursors, PAGE, world)
    finally:
        for feed in begun.heads:
            tails.leave(feed, waiter)
    if page.stuck and not page.told:
        raise bodies.stuck(log_apart=world.log_apart)
    heads = dict(begun.cursors)
    mine = frames.until_left(user, page.told)
    for told in mine:
        heads[FeedName(told.item.feed)] = told.item.seq
    return _answer(begun, heads, [frames.item(told) for told in mine], more=page.full)


class _Waiter:
    """Follows feeds for as long as one request waits."""

    def __init__(self) -> None:
        self._stirred = asyncio.Event()

    def take(self, feed: FeedName, last: int, news: News) -> None:  # noqa: ARG002  # that something came is enough
        self._stirred.set()

    async def stirred(self, wait: float, closing: asyncio.Event) -> None:
        both = [asyncio.ensure_future(event.wait()) for event in (self._stirred, closing)]
        try:
            await asyncio.wait(both, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in both:
                each.cancel()


def _answer(begun: Begun, heads: Mapping[FeedName, int], items: list[dict[str, Any]], *, more: bool) -> SyncView:
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
        raise Problem(403, "wrong_role", "a key is nobody: this needs a user's token")
    return caller.user_id


@get("/devices", summary="The caller's devices", responses=problems(403))
async def list_devices(caller: Asking, world: Here) -> DeviceList:
    found = await world.ledger.follows.devices(user_of(caller))
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


@delete("/devices/{device_id:str}", status_code=204, summary="Forget a device", responses=problems(403, 404))
async def remove_device(device_id: FromPath[str], caller: Asking, world: Here) -> None:
    """Its connection ends; it must read everything anew when it comes back."""
    user = user_of(caller)
    if not await world.ledger.follows.remove(user, DeviceId(device_id)):
        raise Problem(404, "not_found", "you have no such device")
    world.hints.give([f"{DEVICE}:{REMOVED} 0 {user} {device_id}"])


@get("/presence", summary="Who is here", responses=problems(400, 404))
async def presence(caller: Asking, world: Here, user_id: Annotated[str, QueryParameter(max_length=64)]) -> PresenceView:
    if user_id not in {str(user.id) for user in await world.ledger.accounts.users(caller.org_id)}:
        raise Problem(404, "not_found", "this org has no such person")
    state = (await world.whereabouts.of([UserId(user_id)]))[UserId(user_id)]
    return PresenceView(user_id=user_id, state=state.value)


router = Router(
    "/api/v1",
    dependencies={"caller": Provide(reader)},
    tags=["Live"],
    route_handlers=[sync, list_devices, remove_device, presence],
)

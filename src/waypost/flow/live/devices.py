"""Connects a device: which feeds it follows and where each continues, or that it must read everything again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from waypost.flow.conversations import archived_bodies, failure_text
from waypost.flow.world import World
from waypost.model.chat import Device, DeviceId, FeedName, FollowedFeed, LoadedItem
from waypost.model.ids import OrgId, UserId
from waypost.model.push import Subscription
from waypost.model.time import Instant
from waypost.ports.conversations.chats import CursorAck
from waypost.rules.live import catchup, push_subscription
from waypost.rules.live.catchup import FeedBounds

LONGEST_ID = 64
OTHER_EPOCH = "another epoch"
FORGOTTEN = "this device is not known any more"


class DeviceHello(msgspec.Struct, frozen=True, kw_only=True):
    """A device's hello: its id, and its position from before."""

    device_id: DeviceId
    epoch: str | None = None
    cursors: Mapping[str, int] = {}


class DeviceSession(msgspec.Struct, frozen=True, kw_only=True):
    device: Device
    heads: Mapping[FeedName, int]
    cursors: Mapping[FeedName, int]
    """Where each feed continues."""
    lost: str | None
    """Why it must read everything again, from `cursors` at the heads; None if it need not."""
    resumed: bool
    """Whether a known device continues where it was."""


def is_device_id(text: str) -> bool:
    return 0 < len(text) <= LONGEST_ID and text.isprintable() and " " not in text


async def begin(org: OrgId, user: UserId, hello: DeviceHello, world: World) -> DeviceSession:
    """A feed that the device does not name starts at its head at the device's first hello."""
    feeds, now = world.ledger.device_feeds, world.clock.now()
    own = await feeds.heads([FeedName(f"user:{user}")])  # read first, so that a later join appears as an item
    following = await feeds.feeds(org, user)
    heads = {**await feeds.heads([each.feed for each in following]), **own}
    fresh = Device(
        user_id=user,
        device_id=hello.device_id,
        org_id=org,
        epoch=world.ids.token(9),
        created_at=now,
        seen_at=now,
        push=None,
        cursors=dict(heads),
    )
    device = await feeds.open(fresh, now)
    bounds = await _bounds(following, heads, hello.cursors, device.cursors, world)
    start = catchup.start(following, bounds, hello.cursors, device.cursors)
    is_new = device.epoch == fresh.epoch
    if hello.epoch is not None and hello.epoch != device.epoch:
        start = catchup.CatchUpStart(heads, OTHER_EPOCH)
    elif is_new and hello.cursors:  # feeds it does not name would skip unseen items
        start = catchup.CatchUpStart(heads, FORGOTTEN)
    resumed = start.lost is None and not is_new
    return DeviceSession(device=device, heads=heads, cursors=start.cursors, lost=start.lost, resumed=resumed)


async def _bounds(
    following: Sequence[FollowedFeed],
    heads: Mapping[FeedName, int],
    given: Mapping[str, int],
    stored: Mapping[FeedName, int],
    world: World,
) -> dict[FeedName, FeedBounds]:
    """The bounds of the feeds; the oldest item matters only where the device is behind."""
    found = {}
    for each in following:
        cursor = max(given.get(each.feed, stored.get(each.feed, each.since)), each.since)
        oldest = await world.ledger.device_feeds.oldest(each.feed, cursor) if cursor < heads[each.feed] else None
        found[each.feed] = FeedBounds(head=heads[each.feed], oldest=oldest)
    return found


async def subscribe(user: UserId, device: DeviceId, subscription: Subscription | None, world: World) -> bool:
    """Sets or removes the device's push subscription; False if there is no such device."""
    push = None if subscription is None else push_subscription.written(subscription)
    return await world.ledger.device_feeds.subscribe(user, device, push)


class SyncPage(msgspec.Struct, frozen=True):
    items: Sequence[LoadedItem]
    full: bool
    """Whether more items may be available now."""
    stuck: frozenset[FeedName] = frozenset()
    """Feeds whose next item needs a body that the history store cannot deliver now."""


async def page(cursors: Mapping[FeedName, int], limit: int, world: World) -> SyncPage:
    """The items after these cursors; if the history store does not answer, only those before a missing body."""
    found = await world.ledger.device_feeds.items(cursors, limit)
    items, stuck = await archived_bodies.load_item_bodies(found, world.history)
    others = {feed: seq for feed, seq in cursors.items() if feed not in stuck}
    if stuck and others and len(found) == limit:  # else the other feeds would never be read
        found = await world.ledger.device_feeds.items(others, limit)
        more, also = await archived_bodies.load_item_bodies(found, world.history)
        items, stuck = [*(one for one in items if one.item.feed in stuck), *more], stuck | also
    full = len(found) == limit and (not stuck or any(one.item.feed not in stuck for one in items))
    return SyncPage(await failure_text.add_failure_text(items, world), full, stuck)


async def followed_feeds(org: OrgId, user: UserId, world: World) -> Sequence[FollowedFeed]:
    """The feeds that the user's devices follow."""
    return await world.ledger.device_feeds.feeds(org, user)


async def devices(user: UserId, world: World) -> Sequence[Device]:
    """The user's devices."""
    return await world.ledger.device_feeds.devices(user)


async def remove(user: UserId, device: DeviceId, world: World) -> bool:
    """Remove a device; False when the user has no such device."""
    return await world.ledger.device_feeds.remove(user, device)


async def acknowledge(acks: Sequence[CursorAck], world: World) -> None:
    """Store how far devices have confirmed their feeds."""
    await world.ledger.device_feeds.acked(acks)


async def mark_seen(seen: Sequence[tuple[UserId, DeviceId]], at: Instant, world: World) -> None:
    """Store when these devices were last connected."""
    await world.ledger.device_feeds.seen(seen, at)

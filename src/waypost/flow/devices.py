"""A device says hello: what it follows, where it begins, and whether what it holds can be continued."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from waypost.flow import bodies, explain
from waypost.flow.world import World
from waypost.model.chat import Device, DeviceId, FeedName, Following, Told
from waypost.model.ids import OrgId, UserId
from waypost.model.push import Subscription
from waypost.rules import catchup, push_subscription
from waypost.rules.catchup import Known

LONGEST_ID = 64
OTHER_EPOCH = "another epoch"
FORGOTTEN = "this device is not known any more"


class Greeting(msgspec.Struct, frozen=True, kw_only=True):
    """What a device says of itself."""

    device_id: DeviceId
    epoch: str | None = None
    cursors: Mapping[str, int] = {}


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    device: Device
    heads: Mapping[FeedName, int]
    cursors: Mapping[FeedName, int]
    """Where each feed goes on for it."""
    lost: str | None
    """Why it must read everything anew: `cursors` are the heads then."""
    resumed: bool
    """It was here before, and goes on where it was."""


def is_device_id(text: str) -> bool:
    return 0 < len(text) <= LONGEST_ID and text.isprintable() and " " not in text


async def begin(org: OrgId, user: UserId, greeting: Greeting, world: World) -> Begun:
    """A feed that the device does not name begins where it stood at the device's first hello."""
    follows, now = world.ledger.follows, world.clock.now()
    own = await follows.heads([FeedName(f"user:{user}")])  # first: what its person joins after this is told after it
    following = await follows.feeds(org, user)
    heads = {**await follows.heads([each.feed for each in following]), **own}
    fresh = Device(
        user_id=user,
        device_id=greeting.device_id,
        org_id=org,
        epoch=world.ids.token(9),
        created_at=now,
        seen_at=now,
        push=None,
        cursors=dict(heads),
    )
    device = await follows.open(fresh, now)
    known = await _known(following, heads, greeting.cursors, device.cursors, world)
    start = catchup.start(following, known, greeting.cursors, device.cursors)
    is_new = device.epoch == fresh.epoch
    if greeting.epoch is not None and greeting.epoch != device.epoch:
        start = catchup.Start(heads, OTHER_EPOCH)
    elif is_new and greeting.cursors:  # what it does not name would go on at the heads, past what it has not seen
        start = catchup.Start(heads, FORGOTTEN)
    return Begun(
        device=device,
        heads=heads,
        cursors=start.cursors,
        lost=start.lost,
        resumed=start.lost is None and not is_new,
    )


async def _known(
    following: Sequence[Following],
    heads: Mapping[FeedName, int],
    given: Mapping[str, int],
    stored: Mapping[FeedName, int],
    world: World,
) -> dict[FeedName, Known]:
    """What is forgotten matters only to who is behind."""
    found = {}
    for each in following:
        cursor = max(given.get(each.feed, stored.get(each.feed, each.since)), each.since)
        oldest = await world.ledger.follows.oldest(each.feed, cursor) if cursor < heads[each.feed] else None
        found[each.feed] = Known(head=heads[each.feed], oldest=oldest)
    return found


async def subscribe(user: UserId, device: DeviceId, subscription: Subscription | None, world: World) -> bool:
    """Where the device is told that a message waits while it is away; False when there is no such device."""
    push = None if subscription is None else push_subscription.written(subscription)
    return await world.ledger.follows.subscribe(user, device, push)


class Page(msgspec.Struct, frozen=True):
    told: Sequence[Told]
    full: bool
    """There may be more, at once."""
    stuck: frozenset[FeedName] = frozenset()
    """Feeds that tell of something next which only the Log has, and it does not answer."""


async def page(cursors: Mapping[FeedName, int], limit: int, world: World) -> Page:
    """What these feeds tell after a number each; while the Log does not answer, as far as it is not needed."""
    found = await world.ledger.follows.told(cursors, limit)
    told, stuck = await bodies.told(found, world.log)
    others = {feed: seq for feed, seq in cursors.items() if feed not in stuck}
    if stuck and others and len(found) == limit:  # the others' turn would never come
        found = await world.ledger.follows.told(others, limit)
        more, also = await bodies.told(found, world.log)
        told, stuck = [*(one for one in told if one.item.feed in stuck), *more], stuck | also
    full = len(found) == limit and (not stuck or any(one.item.feed not in stuck for one in told))
    return Page(await explain.told(told, world), full, stuck)

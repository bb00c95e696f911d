"""Devices in SQL: the feeds they follow, their cursors, their push subscriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from waypost.adapters.sql.conversations import notifications
from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.group_commit import GroupCommit
from waypost.adapters.sql.engine.plan import Once, Plan, Row, each
from waypost.adapters.sql.kernel.conversation_work import feed_of, team_of
from waypost.adapters.sql.rows import conversation_rows
from waypost.model.chat import Device, DeviceId, FeedName, FollowedFeed, LoadedItem
from waypost.model.ids import OrgId, UserId
from waypost.model.media import FileSummary, MediaState
from waypost.model.message import Status
from waypost.model.time import Instant
from waypost.ports.conversations.chats import CursorAck, DeviceSweep

_ITEM = 7
_ENTRY = _ITEM + 12

DeviceOpening: TypeAlias = tuple[Device, Instant]
"""A device that connects, and when."""


class SqlDeviceFeeds:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._openings: GroupCommit[DeviceOpening] = GroupCommit(lambda some: engine.transact(_open_all(some), "turns"))

    async def feeds(self, org: OrgId, user: UserId) -> Sequence[FollowedFeed]:
        groups = await self._engine.read("groups_followed", user)
        own = [FollowedFeed(feed_of(user), 0), FollowedFeed(team_of(org), 0)]
        return [*own, *(FollowedFeed(FeedName(f"group:{chat}"), since) for chat, since in groups)]

    async def heads(self, feeds: Sequence[FeedName]) -> Mapping[FeedName, int]:
        found = await self._engine.read("feed_heads", sorted(feeds)) if feeds else []
        return dict.fromkeys(feeds, 0) | {row[0]: row[1] for row in found}

    async def oldest(self, feed: FeedName, after: int = 0) -> int | None:
        found = await self._engine.read("feed_oldest", feed, after)
        return int(found[0][0]) if found else None

    async def items(self, cursors: Mapping[FeedName, int], limit: int) -> Sequence[LoadedItem]:
        feeds = sorted(cursors)
        after = [cursors[feed] for feed in feeds]
        return (
            [_loaded_item(row) for row in await self._engine.read("feeds_told", feeds, after, limit)] if feeds else []
        )

    async def open(self, device: Device, now: Instant) -> Device:
        stored: Device = await self._openings.do((device, now))  # batched with other openings
        return stored

    async def close(self) -> None:
        """Finish the queued connections."""
        await self._openings.close()

    async def devices(self, user: UserId) -> Sequence[Device]:
        cursors: dict[str, dict[FeedName, int]] = {}
        for device, feed, seq in await self._engine.read("device_cursors", user):
            cursors.setdefault(device, {})[feed] = seq
        found = await self._engine.read("devices_of", user)
        return [_device(row, cursors.get(row[1], {})) for row in found]

    async def acked(self, moves: Sequence[CursorAck]) -> None:
        furthest: dict[tuple[UserId, DeviceId, FeedName], int] = {}
        for user, device, feed, seq in moves:
            furthest[user, device, feed] = max(seq, furthest.get((user, device, feed), 0))
        await self._engine.transact(_put_cursors([(*key, furthest[key]) for key in sorted(furthest)]), "turns")

    async def seen(self, devices: Sequence[tuple[UserId, DeviceId]], now: Instant) -> None:
        if devices:
            await self._engine.transact(_seen(devices, now), "turns")

    async def forget(self, before: Instant, after: tuple[UserId, DeviceId], limit: int) -> DeviceSweep:
        found = await self._engine.read("devices_look", *after, limit)
        old = [(user, device, before) for user, device, seen_at, pushed, _ in found if seen_at < before and not pushed]
        removed = await self._engine.transact(_prune(old), "turns") if old else 0
        for user, device, _, pushed, user_exists in found:
            if pushed and not user_exists:  # its user no longer exists
                removed += await self.remove(user, device)
        return DeviceSweep(removed, (found[-1][0], found[-1][1]) if len(found) == limit else None)

    async def remove(self, user: UserId, device: DeviceId) -> bool:
        return await self._engine.transact(_remove(user, device), "turns")

    async def subscribe(self, user: UserId, device: DeviceId, push: str | None) -> bool:
        return await self._engine.transact(notifications.subscribe(user, device, push), "turns")


def _loaded_item(row: Row) -> LoadedItem:
    number, provider_id, code, message, file, state, kind, name, size = row[_ITEM + 3 : _ENTRY]
    summary = FileSummary(id=file, state=MediaState(state), mime_type=kind, filename=name, size=size) if file else None
    return LoadedItem(
        item=conversation_rows.feed_item(row),
        contact_id=row[_ITEM],
        status=None if row[_ITEM + 1] is None else Status(row[_ITEM + 1]),
        was_read=row[_ITEM + 2] is not None,
        number=number or None,
        provider_id=provider_id,
        error_code=code,
        error_message=message,
        file=summary,
        entry=None if row[_ENTRY] is None else conversation_rows.entry(row[_ENTRY:]),
    )


def _device(row: Row, cursors: dict[FeedName, int]) -> Device:
    return Device(
        user_id=row[0],
        device_id=row[1],
        org_id=row[2],
        epoch=row[3],
        created_at=row[4],
        seen_at=row[5],
        push=row[6],
        cursors=cursors,
    )


def _open_all(openings: Sequence[DeviceOpening]) -> Plan[list[Device]]:
    """In the order of their keys; of several openings of one device in a batch, the first counts."""
    first = {(device.user_id, device.device_id): (device, now) for device, now in reversed(openings)}
    rows = [(*key, first[key][0].org_id, first[key][0].epoch, first[key][1]) for key in sorted(first)]
    stored = {(row[0], row[1]): _device(row, {}) for row in (yield from each("device_open", rows))}
    begins = [
        (*key, feed, seq)
        for key, (device, now) in sorted(first.items(), key=lambda named: named[0])
        if stored[key].epoch == device.epoch and stored[key].created_at == now
        for feed, seq in sorted(device.cursors.items())
    ]
    yield from each("cursor_put", begins)
    cursors: dict[tuple[str, str], dict[FeedName, int]] = {key: {} for key in first}
    for user, device_id, feed, seq in (yield from each("cursors_of", sorted(first))):
        cursors[user, device_id][feed] = seq
    keys = [(device.user_id, device.device_id) for device, _ in openings]
    return [replace(stored[key], cursors=cursors[key]) for key in keys]


def _put_cursors(moves: Sequence[Row]) -> Plan[None]:
    yield from each("cursor_put", moves)


def _seen(devices: Sequence[tuple[UserId, DeviceId]], now: Instant) -> Plan[None]:
    yield from each("device_seen", [(*device, now) for device in sorted(set(devices))])


def _prune(old: Sequence[Row]) -> Plan[int]:
    removed = sorted((user, device) for user, device in (yield from each("device_forget", old)))
    yield from each("cursors_drop", removed)
    return len(removed)


def _remove(user: UserId, device: DeviceId) -> Plan[bool]:
    yield from notifications.subscribe(user, device, None)
    yield from each("cursors_drop", [(user, device)])
    return bool((yield Once("device_drop", (user, device))))

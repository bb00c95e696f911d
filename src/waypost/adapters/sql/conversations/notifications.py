"""Push notifications in SQL: a worker scans the feeds, so that posting costs nothing extra.

Lock order: scanned feeds (a team's before its users'), then devices, then notifications. The scan skips locked rows.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from waypost.adapters.sql.conversations.conversations import forgotten
from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan, Row, each
from waypost.adapters.sql.kernel.conversation_work import feed_of, team_of
from waypost.adapters.sql.rows import conversation_rows
from waypost.model.chat import DeviceId, FeedName
from waypost.model.conversation import BOT, ConversationId, Position
from waypost.model.ids import Fence, OrgId, UserId, WorkerId
from waypost.model.push import (
    NotifiableItem,
    NotificationSettings,
    NotificationTask,
    Notified,
    NotifyDropped,
    NotifyLater,
    NotifyVerdict,
    SubscribedDevice,
    Subscription,
    SubscriptionDead,
)
from waypost.model.time import Instant, Span
from waypost.rules.conversations.chat_content import words
from waypost.rules.live.push import first_due_at, notifiable_message
from waypost.rules.live.push_subscription import written

FEEDS_AT_ONCE = 50
ITEMS_AT_ONCE = 500
"""Per feed and transaction."""
MOST_UNREAD = 100
_TASK = 8
_JOINED = 6


class _Joins(msgspec.Struct):
    feed: str
    since: int = msgspec.field(name="from")


class _Joined(msgspec.Struct):
    joins: _Joins | None = None


_subscription = msgspec.json.Decoder(Subscription)
_joined = msgspec.json.Decoder(_Joined)


class SqlNotifications:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def look(self, after: str, settings: NotificationSettings, now: Instant) -> str:
        """Locks nothing in the usual case that no feed has moved."""
        lagging = [row[0] for row in await self._engine.read("notice_feeds_behind", after, FEEDS_AT_ONCE)]
        left: Sequence[str] = lagging
        while left:
            left = await self._engine.transact(_look(left, settings, now))
        return lagging[-1] if len(lagging) == FEEDS_AT_ONCE else ""

    async def to_notify(self, owner: WorkerId, limit: int, lease: Span, now: Instant) -> Sequence[NotificationTask]:
        taken = await self._engine.transact(_take(owner, limit, Instant(now + lease), now))
        tasks = await asyncio.gather(*(self._task(row) for row in taken))
        gone = [row for row, task in zip(taken, tasks, strict=True) if task is None]
        for feed, conversation, *_, fence in gone:
            await self._engine.transact(_release(feed, conversation, fence))
        return [task for task in tasks if task is not None]

    async def _task(self, row: Row) -> NotificationTask | None:
        feed, conversation, position, seq, fence = row
        found = await self._engine.read("notice_talk", conversation, position)
        if not found:
            return None
        task = _task(feed, fence, found[0])
        if feed == team_of(task.org_id):
            known = await self._engine.read("notice_listeners_team", task.org_id, conversation, seq, MOST_UNREAD)
        else:
            whose = feed.removeprefix("user:") if feed.startswith("user:") else ""
            known = await self._engine.read(
                "notice_listeners_chat", feed, conversation, seq, MOST_UNREAD, whose, task.latest
            )
        return replace(task, listeners=tuple(_listener(row, position) for row in sorted(map(tuple, known))))

    async def settle(
        self,
        task: NotificationTask,
        verdicts: Sequence[tuple[SubscribedDevice, NotifyVerdict]],
        look_again: Instant | None,
        now: Instant,
    ) -> bool:
        return await self._engine.transact(_settle(task, verdicts, look_again, now))

    async def next_notification(self) -> Instant | None:
        found = await self._engine.read("notice_next")
        return Instant(found[0][0]) if found else None

    async def forget(self, before: Instant, limit: int) -> int:
        return await self._engine.transact(forgotten("notices_forget", before, limit))


def _task(feed: FeedName, fence: Fence, row: Row) -> NotificationTask:
    org, kind, title, address, assignee, floor, contact, writer = row[:_TASK]
    entry = conversation_rows.entry(row[_TASK:])
    return NotificationTask(
        feed=feed,
        org_id=org,
        conversation_id=entry.conversation_id,
        kind=kind,
        title=title or (contact or address if kind == "customer" else writer or entry.sender),
        latest=entry.position,
        sender=entry.sender,
        words=words(entry),
        away=entry if entry.is_archived else None,
        at=entry.id_at,
        floor=floor or BOT,
        assignee=assignee,
        listeners=(),
        fence=fence,
    )


def _listener(row: Row, latest: Position) -> SubscribedDevice:
    user, device, push, not_before, failures, seen_at, read, has_it, unread, notified, notified_at = row
    return SubscribedDevice(
        device_id=device,
        user_id=user,
        subscription=_subscription.decode(push),
        seen_at=seen_at,
        shown=max(latest, read) if has_it else read,
        unread=unread,
        notified=notified or Position(0),
        notified_at=notified_at,
        not_before=not_before,
        failures=failures,
    )


def _look(feeds: Sequence[str], settings: NotificationSettings, now: Instant) -> Plan[Sequence[str]]:
    """Returns the feeds that have more items."""
    held = yield from each("notice_feed_lock", [(feed,) for feed in feeds])
    found = yield from each("notice_items", [(feed, seq, ITEMS_AT_ONCE) for feed, seq in held])
    due: dict[tuple[str, int], Row] = {}
    for item in map(_item, found):
        position = notifiable_message(item, settings, now)
        if position is not None:
            key = item.feed, item.conversation_id
            first = due[key][4] if key in due else first_due_at(item, settings)
            due[key] = (*key, position, item.seq, first, now)
    joins = {joined.feed: joined.since for row in found if (joined := _joined_feed(row[_JOINED])) is not None}
    yield from each("notice_feed_join", sorted(joins.items()))
    yield from each("notice_put", [due[key] for key in sorted(due)])
    yield from each("notice_feed_move", sorted({row[0]: row[1] for row in found}.items()))
    return [feed for feed, items in sorted(Counter(row[0] for row in found).items()) if items == ITEMS_AT_ONCE]


def _joined_feed(body: str) -> _Joins | None:
    """The group feed that a user follows from this item on: the group got a feed of its own, or the user joined it."""
    return _joined.decode(body).joins if body else None


def _item(row: Row) -> NotifiableItem:
    return NotifiableItem(
        feed=row[0],
        seq=row[1],
        at=row[2],
        kind=row[3],
        conversation_id=row[4],
        position=row[5],
        sender=row[7],
        type=row[8],
        floor=row[9],
        asked=row[10],
    )


def _take(owner: WorkerId, limit: int, until: Instant, now: Instant) -> Plan[list[Row]]:
    due = yield Once("notices_due", (now, limit))
    taken = yield from each("notice_take", [(feed, conversation, owner, until) for feed, conversation in due])
    return [tuple(row) for row in taken]


def _release(feed: FeedName, conversation: ConversationId, fence: Fence) -> Plan[None]:
    if (yield Once("notice_lock", (feed, conversation, fence))):
        yield Once("notice_drop", (feed, conversation))


def _settle(
    task: NotificationTask,
    verdicts: Sequence[tuple[SubscribedDevice, NotifyVerdict]],
    look_again: Instant | None,
    now: Instant,
) -> Plan[bool]:
    ordered = sorted(verdicts, key=lambda each: (each[0].user_id, each[0].device_id))
    yield from _drop_subscriptions(
        [listener for listener, verdict in ordered if isinstance(verdict, SubscriptionDead)], task.org_id
    )
    held = yield Once("notice_lock", (task.feed, task.conversation_id, task.fence))
    if not held:
        return False
    for listener, verdict in ordered:
        device = listener.user_id, listener.device_id
        if isinstance(verdict, NotifyLater):
            yield Once("device_put_off", (*device, verdict.until))
        elif isinstance(verdict, Notified | NotifyDropped):
            yield Once("device_went_well", device)
    yield from each("notice_told_put", [row for item in ordered for row in _notified_rows(task, *item, now)])
    due = min((at for at in (held[0][0], look_again) if at is not None), default=None)
    if due is None:
        yield Once("notice_drop", (task.feed, task.conversation_id))
    else:
        yield Once("notice_again", (task.feed, task.conversation_id, due))
    return True


def _notified_rows(
    task: NotificationTask, listener: SubscribedDevice, verdict: NotifyVerdict, now: Instant
) -> list[Row]:
    key = listener.user_id, listener.device_id, task.conversation_id
    match verdict:
        case Notified(upto, at):
            return [(*key, upto, at, now)]
        case NotifyDropped(upto):
            return [(*key, upto, None, now)]
        case _:
            return []


def _drop_subscriptions(dead: Sequence[SubscribedDevice], org: OrgId) -> Plan[None]:
    if not dead:
        return
    yield Once("notice_feed_hold", (team_of(org),))
    for listener in dead:
        device = listener.user_id, listener.device_id
        if (yield Once("device_unpush", (*device, written(listener.subscription)))):
            yield from _leave(listener.user_id, org)


def subscribe(user: UserId, device: DeviceId, push: str | None) -> Plan[bool]:
    """Locks the team's row first, so that removing an org's last subscription cannot miss a new one."""
    found = yield Once("device_org", (user, device))
    if not found:
        return False
    org = found[0][0]
    yield Once("notice_feed_hold" if push is None else "notice_feed_begin", (team_of(org),))
    if not (yield Once("device_push", (user, device, push))):
        return False
    if push is None:
        yield from _leave(user, org)
        return True
    for (other,) in (yield Once("device_push_elsewhere", (org, push, user, device))):
        yield from _leave(other, org)
    yield Once("notice_feed_begin", (feed_of(user),))
    for chat, _ in sorted(map(tuple, (yield Once("groups_followed", (user,))))):
        yield Once("notice_feed_begin", (f"group:{chat}",))
    return True


def remove_user_devices(user: UserId, org: OrgId) -> Plan[None]:
    """Remove all devices of a removed user; locks the team's row first, as above."""
    yield Once("notice_feed_hold", (team_of(org),))
    yield Once("devices_of_person_drop", (user,))
    yield Once("cursors_of_person_drop", (user,))
    yield from _leave(user, org)


def _leave(user: UserId, org: OrgId) -> Plan[None]:
    """Stop scanning feeds that no subscribed device follows."""
    yield Once("notice_feed_leave_team", (team_of(org), org))
    yield Once("notice_feed_leave", (feed_of(user), user))
    for chat, _ in sorted(map(tuple, (yield Once("groups_followed", (user,))))):
        yield Once("notice_feed_leave_group", (f"group:{chat}", chat))

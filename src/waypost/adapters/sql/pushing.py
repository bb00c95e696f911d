"""Who is to be told that a message waits, in SQL: feeds are looked through, so that posts pay nothing for it.

Locked in this order: feeds that are looked through (a team's before its people's), then devices, then notices. Whoever
looks skips what is taken.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from waypost.adapters.sql import talk_rows
from waypost.adapters.sql.conversations import forgotten
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Once, Plan, Row, each
from waypost.adapters.sql.talks import feed_of, team_of
from waypost.model.chat import DeviceId, FeedName
from waypost.model.conversation import BOT, ConversationId, Position
from waypost.model.ids import Fence, OrgId, UserId, WorkerId
from waypost.model.push import Dead, Dropped, Habits, Happening, Listener, PutOff, Subscription, Talk, Told, Verdict
from waypost.model.time import Instant, Span
from waypost.rules.chat_content import words
from waypost.rules.push import first_look, to_tell
from waypost.rules.push_subscription import written

FEEDS_AT_ONCE = 50
ITEMS_AT_ONCE = 500
"""Of one feed, in one transaction."""
MOST_UNREAD = 100
_TALK = 8
_JOINED = 6


class _Joins(msgspec.Struct):
    feed: str
    since: int = msgspec.field(name="from")


class _Joined(msgspec.Struct):
    joins: _Joins | None = None


_subscription = msgspec.json.Decoder(Subscription)
_joined = msgspec.json.Decoder(_Joined)


class SqlNotices:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def look(self, after: str, habits: Habits, now: Instant) -> str:
        """Mostly nothing moved: then nothing is locked."""
        behind = [row[0] for row in await self._engine.read("notice_feeds_behind", after, FEEDS_AT_ONCE)]
        left: Sequence[str] = behind
        while left:
            left = await self._engine.transact(_look(left, habits, now))
        return behind[-1] if len(behind) == FEEDS_AT_ONCE else ""

    async def to_notify(self, owner: WorkerId, limit: int, lease: Span, now: Instant) -> Sequence[Talk]:
        taken = await self._engine.transact(_take(owner, limit, Instant(now + lease), now))
        talks = await asyncio.gather(*(self._talk(row) for row in taken))
        gone = [row for row, talk in zip(taken, talks, strict=True) if talk is None]
        for feed, conversation, *_, fence in gone:
            await self._engine.transact(_let_go(feed, conversation, fence))
        return [talk for talk in talks if talk is not None]

    async def _talk(self, row: Row) -> Talk | None:
        feed, conversation, position, seq, fence = row
        found = await self._engine.read("notice_talk", conversation, position)
        if not found:
            return None
        talk = _talk(feed, fence, found[0])
        if feed == team_of(talk.org_id):
            known = await self._engine.read("notice_listeners_team", talk.org_id, conversation, seq, MOST_UNREAD)
        else:
            whose = feed.removeprefix("user:") if feed.startswith("user:") else ""
            known = await self._engine.read(
                "notice_listeners_chat", feed, conversation, seq, MOST_UNREAD, whose, talk.latest
            )
        return replace(talk, listeners=tuple(_listener(row, position) for row in sorted(map(tuple, known))))

    async def settle(
        self, talk: Talk, verdicts: Sequence[tuple[Listener, Verdict]], look_again: Instant | None, now: Instant
    ) -> bool:
        return await self._engine.transact(_settle(talk, verdicts, look_again, now))

    async def next_notice(self) -> Instant | None:
        found = await self._engine.read("notice_next")
        return Instant(found[0][0]) if found else None

    async def forget(self, before: Instant, limit: int) -> int:
        return await self._engine.transact(forgotten("notices_forget", before, limit))


def _talk(feed: FeedName, fence: Fence, row: Row) -> Talk:
    org, kind, title, address, assignee, floor, contact, writer = row[:_TALK]
    entry = talk_rows.entry(row[_TALK:])
    return Talk(
        feed=feed,
        org_id=org,
        conversation_id=entry.conversation_id,
        kind=kind,
        title=title or (contact or address if kind == "customer" else writer or entry.sender),
        latest=entry.position,
        sender=entry.sender,
        words=words(entry),
        away=entry if entry.is_away else None,
        at=entry.id_at,
        floor=floor or BOT,
        assignee=assignee,
        listeners=(),
        fence=fence,
    )


def _listener(row: Row, latest: Position) -> Listener:
    user, device, push, not_before, failures, seen_at, read, has_it, unread, told, told_at = row
    return Listener(
        device_id=device,
        user_id=user,
        subscription=_subscription.decode(push),
        seen_at=seen_at,
        shown=max(latest, read) if has_it else read,
        unread=unread,
        told=told or Position(0),
        told_at=told_at,
        not_before=not_before,
        failures=failures,
    )


def _look(feeds: Sequence[str], habits: Habits, now: Instant) -> Plan[Sequence[str]]:
    """Returns those that there is more of."""
    held = yield from each("notice_feed_lock", [(feed,) for feed in feeds])
    found = yield from each("notice_items", [(feed, seq, ITEMS_AT_ONCE) for feed, seq in held])
    due: dict[tuple[str, int], Row] = {}
    for item in map(_happening, found):
        position = to_tell(item, habits, now)
        if position is not None:
            key = item.feed, item.conversation_id
            first = due[key][4] if key in due else first_look(item, habits)
            due[key] = (*key, position, item.seq, first, now)
    joins = {joined.feed: joined.since for row in found if (joined := _joins(row[_JOINED])) is not None}
    yield from each("notice_feed_join", sorted(joins.items()))
    yield from each("notice_put", [due[key] for key in sorted(due)])
    yield from each("notice_feed_move", sorted({row[0]: row[1] for row in found}.items()))
    return [feed for feed, items in sorted(Counter(row[0] for row in found).items()) if items == ITEMS_AT_ONCE]


def _joins(body: str) -> _Joins | None:
    """The feed that a person follows from now on: a group's that has grown, or that they came to."""
    return _joined.decode(body).joins if body else None


def _happening(row: Row) -> Happening:
    return Happening(
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


def _let_go(feed: FeedName, conversation: ConversationId, fence: Fence) -> Plan[None]:
    if (yield Once("notice_lock", (feed, conversation, fence))):
        yield Once("notice_drop", (feed, conversation))


def _settle(
    talk: Talk, verdicts: Sequence[tuple[Listener, Verdict]], look_again: Instant | None, now: Instant
) -> Plan[bool]:
    ordered = sorted(verdicts, key=lambda each: (each[0].user_id, each[0].device_id))
    yield from _bury([listener for listener, verdict in ordered if isinstance(verdict, Dead)], talk.org_id)
    held = yield Once("notice_lock", (talk.feed, talk.conversation_id, talk.fence))
    if not held:
        return False
    for listener, verdict in ordered:
        device = listener.user_id, listener.device_id
        if isinstance(verdict, PutOff):
            yield Once("device_put_off", (*device, verdict.until))
        elif isinstance(verdict, Told | Dropped):
            yield Once("device_went_well", device)
    yield from each("notice_told_put", [row for pair in ordered for row in _told(talk, *pair, now)])
    due = min((at for at in (held[0][0], look_again) if at is not None), default=None)
    if due is None:
        yield Once("notice_drop", (talk.feed, talk.conversation_id))
    else:
        yield Once("notice_again", (talk.feed, talk.conversation_id, due))
    return True


def _told(talk: Talk, listener: Listener, verdict: Verdict, now: Instant) -> list[Row]:
    key = listener.user_id, listener.device_id, talk.conversation_id
    match verdict:
        case Told(upto, at):
            return [(*key, upto, at, now)]
        case Dropped(upto):
            return [(*key, upto, None, now)]
        case _:
            return []


def _bury(dead: Sequence[Listener], org: OrgId) -> Plan[None]:
    if not dead:
        return
    yield Once("notice_feed_hold", (team_of(org),))
    for listener in dead:
        device = listener.user_id, listener.device_id
        if (yield Once("device_unpush", (*device, written(listener.subscription)))):
            yield from _leave(listener.user_id, org)


def subscribe(user: UserId, device: DeviceId, push: str | None) -> Plan[bool]:
    """With the team's row taken first: whoever ends the last subscription of an org does not miss a new one."""
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


def gone(user: UserId, org: OrgId) -> Plan[None]:
    """Everything of a person's devices, when the person is; the team's row is taken first, as above."""
    yield Once("notice_feed_hold", (team_of(org),))
    yield Once("devices_of_person_drop", (user,))
    yield Once("cursors_of_person_drop", (user,))
    yield from _leave(user, org)


def _leave(user: UserId, org: OrgId) -> Plan[None]:
    """What nobody with a subscription follows any more is not looked through."""
    yield Once("notice_feed_leave_team", (team_of(org), org))
    yield Once("notice_feed_leave", (feed_of(user), user))
    for chat, _ in sorted(map(tuple, (yield Once("groups_followed", (user,))))):
        yield Once("notice_feed_leave_group", (f"group:{chat}", chat))

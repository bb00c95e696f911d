"""Conversations as people live in them, in SQL: what they do is decided with others, what they see is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec.structs import replace

from waypost.adapters.sql import chats as rows
from waypost.adapters.sql import pushing, talk_rows
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.group_commit import GroupCommit
from waypost.adapters.sql.plan import Once, Plan, Row, each
from waypost.adapters.sql.posting import ChangeMembers, ChangeWork, Erase, OpenChat, ReadUpTo, Rename, Say
from waypost.adapters.sql.talks import feed_of, team_of
from waypost.model.chat import (
    Chat,
    Device,
    DeviceId,
    FeedName,
    Following,
    Member,
    MemberChange,
    NewChat,
    NewPost,
    ShownChat,
    ShownTalk,
    Told,
    WorkChange,
)
from waypost.model.conversation import BOT, Conversation, ConversationId, Position
from waypost.model.ids import OrgId, UserId
from waypost.model.media import FileNote, MediaState
from waypost.model.message import Status
from waypost.model.time import Instant
from waypost.ports.chats import Acked, Before, Looked, NoChat, NoMessage, NotYours, PostAnswer, ReadUp, TooMany
from waypost.rules.entry_ids import EntryId

_ITEM = 7
_TOLD = _ITEM + 12

Opening: TypeAlias = tuple[Device, Instant]
"""Who says hello, and when."""


class SqlChats:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def post(self, post: NewPost, now: Instant) -> PostAnswer:
        answer: PostAnswer = await self._engine.writer.decide(Say(post, now))
        return answer

    async def open(self, new: NewChat, now: Instant) -> Chat:
        answer: Chat = await self._engine.writer.decide(OpenChat(new, now))
        return answer

    async def change_members(
        self, org: OrgId, chat: ConversationId, change: MemberChange, by: UserId, now: Instant
    ) -> Sequence[Member] | NoChat | TooMany:
        answer: Sequence[Member] | NoChat | TooMany = await self._engine.writer.decide(
            ChangeMembers(org, chat, change, by, now)
        )
        return answer

    async def rename(
        self, org: OrgId, chat: ConversationId, title: str | None, by: UserId, now: Instant
    ) -> Chat | NoChat:
        answer: Chat | NoChat = await self._engine.writer.decide(Rename(org, chat, title, by, now))
        return answer

    async def work(
        self, org: OrgId, conversation: ConversationId, change: WorkChange, by: str, now: Instant
    ) -> Conversation | NoChat:
        answer: Conversation | NoChat = await self._engine.writer.decide(ChangeWork(org, conversation, change, by, now))
        return answer

    async def erase(
        self, org: OrgId, message: EntryId, by: str, now: Instant, *, anybodys: bool = False
    ) -> NoChat | NoMessage | NotYours | None:
        with_customer = await self._is_customers(org, message.conversation_id)
        answer: NoChat | NoMessage | NotYours | None = await self._engine.writer.decide(
            Erase(org, message, with_customer, UserId(by), anybodys, now)
        )
        return answer

    async def read_up_to(self, org: OrgId, user: UserId, message: EntryId, now: Instant) -> ReadUp | NoChat | NoMessage:
        with_customer = await self._is_customers(org, message.conversation_id)
        intent = ReadUpTo(org, user, message, with_customer, now)
        answer: ReadUp | NoChat | NoMessage = await self._engine.writer.decide(intent)
        return answer

    async def _is_customers(self, org: OrgId, conversation: ConversationId) -> bool:
        return bool(await self._engine.read("conversation_get", conversation, org))

    async def get(self, org: OrgId, chat: ConversationId) -> Chat | None:
        found = await self._engine.read("chat_get", chat, org)
        return rows.chat(found[0]) if found else None

    async def members(self, chats: Sequence[ConversationId]) -> Sequence[Member]:
        found = await self._engine.read("members_some", sorted(set(chats))) if chats else []
        return sorted(map(rows.member, found), key=lambda m: (m.conversation_id, m.joined_at, m.user_id))

    async def member(self, chat: ConversationId, user: UserId) -> Member | None:
        found = await self._engine.read("member_find_one", chat, user)
        return rows.member(found[0]) if found else None

    async def reads(self, chat: ConversationId) -> Mapping[UserId, Position]:
        return {row[0]: row[2] for row in await self._engine.read("reads_of", chat)}

    async def shown_talks(
        self, org: OrgId, user: UserId | None, talks: Sequence[ConversationId], most_unread: int
    ) -> Sequence[ShownTalk]:
        wanted = sorted(set(talks))
        found = await self._engine.read("talks_shown", org, user or "", wanted, most_unread) if wanted else []
        return [_shown_talk(row) for row in found]

    async def shown_chats(self, user: UserId, chats: Sequence[ConversationId], most_unread: int) -> Sequence[ShownChat]:
        wanted = sorted(set(chats))
        found = await self._engine.read("chats_shown", user, wanted, most_unread) if wanted else []
        return [_shown_chat(row) for row in found]

    async def of_user(self, user: UserId, kind: str | None, before: Before, limit: int) -> Sequence[Chat]:
        place = before.active_at, before.conversation_id
        found = await self._engine.read("chats_of", user, *place, limit, kind or "")
        return [rows.chat(row) for row in found]

    async def latest(self, org: OrgId, before: Before, limit: int) -> Sequence[Conversation]:
        return await self._listed("talks_latest", org, before, limit)

    async def assigned_to(self, org: OrgId, user: str, before: Before, limit: int) -> Sequence[Conversation]:
        return await self._listed("talks_assigned", org, before, limit, user)

    async def closed(self, org: OrgId, before: Before, limit: int) -> Sequence[Conversation]:
        return await self._listed("talks_closed", org, before, limit)

    async def of_floor(self, org: OrgId, floor: str, before: Before, limit: int) -> Sequence[Conversation]:
        return await self._listed("talks_of_people", org, before, limit, floor)

    async def _listed(
        self, statement: str, org: OrgId, before: Before, limit: int, *more: object
    ) -> Sequence[Conversation]:
        found = await self._engine.read(statement, org, before.active_at, before.conversation_id, limit, *more)
        return [talk_rows.conversation(row) for row in found]


class SqlFollows:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._openings: GroupCommit[Opening] = GroupCommit(lambda some: engine.transact(_open_all(some), "turns"))

    async def feeds(self, org: OrgId, user: UserId) -> Sequence[Following]:
        groups = await self._engine.read("groups_followed", user)
        own = [Following(feed_of(user), 0), Following(team_of(org), 0)]
        return [*own, *(Following(FeedName(f"group:{chat}"), since) for chat, since in groups)]

    async def heads(self, feeds: Sequence[FeedName]) -> Mapping[FeedName, int]:
        found = await self._engine.read("feed_heads", sorted(feeds)) if feeds else []
        return dict.fromkeys(feeds, 0) | {row[0]: row[1] for row in found}

    async def oldest(self, feed: FeedName, after: int = 0) -> int | None:
        found = await self._engine.read("feed_oldest", feed, after)
        return int(found[0][0]) if found else None

    async def told(self, cursors: Mapping[FeedName, int], limit: int) -> Sequence[Told]:
        feeds = sorted(cursors)
        after = [cursors[feed] for feed in feeds]
        return [_told(row) for row in await self._engine.read("feeds_told", feeds, after, limit)] if feeds else []

    async def open(self, device: Device, now: Instant) -> Device:
        stored: Device = await self._openings.do((device, now))  # with whoever says hello at the same time
        return stored

    async def close(self) -> None:
        """Finish the hellos that wait."""
        await self._openings.close()

    async def devices(self, user: UserId) -> Sequence[Device]:
        cursors: dict[str, dict[FeedName, int]] = {}
        for device, feed, seq in await self._engine.read("device_cursors", user):
            cursors.setdefault(device, {})[feed] = seq
        found = await self._engine.read("devices_of", user)
        return [_device(row, cursors.get(row[1], {})) for row in found]

    async def acked(self, moves: Sequence[Acked]) -> None:
        furthest: dict[tuple[UserId, DeviceId, FeedName], int] = {}
        for user, device, feed, seq in moves:
            furthest[user, device, feed] = max(seq, furthest.get((user, device, feed), 0))
        await self._engine.transact(_put_cursors([(*key, furthest[key]) for key in sorted(furthest)]), "turns")

    async def seen(self, devices: Sequence[tuple[UserId, DeviceId]], now: Instant) -> None:
        if devices:
            await self._engine.transact(_seen(devices, now), "turns")

    async def forget(self, before: Instant, after: tuple[UserId, DeviceId], limit: int) -> Looked:
        found = await self._engine.read("devices_look", *after, limit)
        old = [(user, device, before) for user, device, seen_at, pushed, _ in found if seen_at < before and not pushed]
        gone = await self._engine.transact(_forget(old), "turns") if old else 0
        for user, device, _, pushed, person in found:
            if pushed and not person:  # nobody says hello with it any more
                gone += await self.remove(user, device)
        return Looked(gone, (found[-1][0], found[-1][1]) if len(found) == limit else None)

    async def remove(self, user: UserId, device: DeviceId) -> bool:
        return await self._engine.transact(_remove(user, device), "turns")

    async def subscribe(self, user: UserId, device: DeviceId, push: str | None) -> bool:
        return await self._engine.transact(pushing.subscribe(user, device, push), "turns")


def _shown_talk(row: Row) -> ShownTalk:
    floor, read, unread, status, read_at, provider_id, code, said, until, owner, due, *last = row[
        talk_rows.CONVERSATION :
    ]
    return ShownTalk(
        conversation=talk_rows.conversation(row),
        floor=floor,
        read=read,
        unread=unread,
        last=None if last[0] is None else talk_rows.entry(last),
        status=None if status is None else Status(status),
        was_read=read_at is not None,
        provider_id=provider_id,
        error_code=code,
        error_message=said,
        window_until=until,
        turn=_turn(floor, owner, due),
    )


def _turn(floor: str, owner: str | None, due: Instant | None) -> Literal["waiting", "thinking"] | None:
    if owner is not None:
        return "thinking"
    return "waiting" if floor == BOT and due is not None else None


def _shown_chat(row: Row) -> ShownChat:
    read, unread, sees_after, *last = row[rows.CHAT :]
    return ShownChat(
        chat=rows.chat(row),
        read=read,
        unread=unread,
        sees_after=sees_after,
        last=None if last[0] is None or last[1] <= sees_after else talk_rows.entry(last),
    )


def _told(row: Row) -> Told:
    number, provider_id, code, said, file, state, kind, name, size = row[_ITEM + 3 : _TOLD]
    noted = FileNote(id=file, state=MediaState(state), mime_type=kind, filename=name, size=size) if file else None
    return Told(
        item=talk_rows.feed_item(row),
        contact_id=row[_ITEM],
        status=None if row[_ITEM + 1] is None else Status(row[_ITEM + 1]),
        was_read=row[_ITEM + 2] is not None,
        number=number or None,
        provider_id=provider_id,
        error_code=code,
        error_message=said,
        file=noted,
        entry=None if row[_TOLD] is None else talk_rows.entry(row[_TOLD:]),
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


def _open_all(openings: Sequence[Opening]) -> Plan[list[Device]]:
    """In the order of their names; the first hello of a device in a batch stands for the others."""
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


def _forget(old: Sequence[Row]) -> Plan[int]:
    gone = sorted((user, device) for user, device in (yield from each("device_forget", old)))
    yield from each("cursors_drop", gone)
    return len(gone)


def _remove(user: UserId, device: DeviceId) -> Plan[bool]:
    yield from pushing.subscribe(user, device, None)
    yield from each("cursors_drop", [(user, device)])
    return bool((yield Once("device_drop", (user, device))))

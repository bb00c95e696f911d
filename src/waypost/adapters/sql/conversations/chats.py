"""Conversations and chats in SQL: reads go to the engine, changes go through the writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Row
from waypost.adapters.sql.kernel import chat_locks as rows
from waypost.adapters.sql.kernel.commit_queues import Writer
from waypost.adapters.sql.kernel.post_intents import (
    AddPost,
    ChangeChatMembers,
    ChangeConversationWork,
    CreateChat,
    EraseMessage,
    MarkReadUpTo,
    RenameChat,
)
from waypost.adapters.sql.rows import conversation_rows
from waypost.model.chat import (
    Chat,
    ChatListItem,
    ConversationListItem,
    Member,
    MemberChange,
    NewChat,
    NewPost,
    WorkChange,
)
from waypost.model.conversation import BOT, Conversation, ConversationId, Position
from waypost.model.ids import OrgId, UserId
from waypost.model.message import Status
from waypost.model.time import Instant
from waypost.ports.conversations.chats import (
    ActivityCursor,
    ChatMessageNotFound,
    ChatNotFound,
    GroupFull,
    NotTheAuthor,
    PostAnswer,
    ReadMarker,
)
from waypost.rules.conversations.entry_ids import EntryId


class SqlChats:
    def __init__(self, engine: Engine, writer: Writer) -> None:
        self._engine = engine
        self._writer = writer

    async def post(self, post: NewPost, now: Instant) -> PostAnswer:
        answer: PostAnswer = await self._writer.decide(AddPost(post, now))
        return answer

    async def open(self, new: NewChat, now: Instant) -> Chat:
        answer: Chat = await self._writer.decide(CreateChat(new, now))
        return answer

    async def change_members(
        self, org: OrgId, chat: ConversationId, change: MemberChange, by: UserId, now: Instant
    ) -> Sequence[Member] | ChatNotFound | GroupFull:
        answer: Sequence[Member] | ChatNotFound | GroupFull = await self._writer.decide(
            ChangeChatMembers(org, chat, change, by, now)
        )
        return answer

    async def rename(
        self, org: OrgId, chat: ConversationId, title: str | None, by: UserId, now: Instant
    ) -> Chat | ChatNotFound:
        answer: Chat | ChatNotFound = await self._writer.decide(RenameChat(org, chat, title, by, now))
        return answer

    async def work(
        self, org: OrgId, conversation: ConversationId, change: WorkChange, by: str, now: Instant
    ) -> Conversation | ChatNotFound:
        answer: Conversation | ChatNotFound = await self._writer.decide(
            ChangeConversationWork(org, conversation, change, by, now)
        )
        return answer

    async def erase(
        self, org: OrgId, message: EntryId, by: str, now: Instant, *, anybodys: bool = False
    ) -> ChatNotFound | ChatMessageNotFound | NotTheAuthor | None:
        with_customer = await self._is_customers(org, message.conversation_id)
        answer: ChatNotFound | ChatMessageNotFound | NotTheAuthor | None = await self._writer.decide(
            EraseMessage(org, message, with_customer, UserId(by), anybodys, now)
        )
        return answer

    async def read_up_to(
        self, org: OrgId, user: UserId, message: EntryId, now: Instant
    ) -> ReadMarker | ChatNotFound | ChatMessageNotFound:
        with_customer = await self._is_customers(org, message.conversation_id)
        intent = MarkReadUpTo(org, user, message, with_customer, now)
        answer: ReadMarker | ChatNotFound | ChatMessageNotFound = await self._writer.decide(intent)
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

    async def shown_conversations(
        self, org: OrgId, user: UserId | None, conversations: Sequence[ConversationId], most_unread: int
    ) -> Sequence[ConversationListItem]:
        wanted = sorted(set(conversations))
        found = await self._engine.read("talks_shown", org, user or "", wanted, most_unread) if wanted else []
        return [_conversation_item(row) for row in found]

    async def shown_chats(
        self, user: UserId, chats: Sequence[ConversationId], most_unread: int
    ) -> Sequence[ChatListItem]:
        wanted = sorted(set(chats))
        found = await self._engine.read("chats_shown", user, wanted, most_unread) if wanted else []
        return [_shown_chat(row) for row in found]

    async def of_user(self, user: UserId, kind: str | None, before: ActivityCursor, limit: int) -> Sequence[Chat]:
        place = before.active_at, before.conversation_id
        found = await self._engine.read("chats_of", user, *place, limit, kind or "")
        return [rows.chat(row) for row in found]

    async def latest(self, org: OrgId, before: ActivityCursor, limit: int) -> Sequence[Conversation]:
        return await self._listed("talks_latest", org, before, limit)

    async def assigned_to(self, org: OrgId, user: str, before: ActivityCursor, limit: int) -> Sequence[Conversation]:
        return await self._listed("talks_assigned", org, before, limit, user)

    async def closed(self, org: OrgId, before: ActivityCursor, limit: int) -> Sequence[Conversation]:
        return await self._listed("talks_closed", org, before, limit)

    async def of_floor(self, org: OrgId, floor: str, before: ActivityCursor, limit: int) -> Sequence[Conversation]:
        return await self._listed("talks_of_people", org, before, limit, floor)

    async def _listed(
        self, statement: str, org: OrgId, before: ActivityCursor, limit: int, *more: object
    ) -> Sequence[Conversation]:
        found = await self._engine.read(statement, org, before.active_at, before.conversation_id, limit, *more)
        return [conversation_rows.conversation(row) for row in found]


def _conversation_item(row: Row) -> ConversationListItem:
    floor, read, unread, status, read_at, provider_id, code, message, until, owner, due, *last = row[
        conversation_rows.CONVERSATION :
    ]
    return ConversationListItem(
        conversation=conversation_rows.conversation(row),
        floor=floor,
        read=read,
        unread=unread,
        last=None if last[0] is None else conversation_rows.entry(last),
        status=None if status is None else Status(status),
        was_read=read_at is not None,
        provider_id=provider_id,
        error_code=code,
        error_message=message,
        window_until=until,
        turn=_turn(floor, owner, due),
    )


def _turn(floor: str, owner: str | None, due: Instant | None) -> Literal["waiting", "thinking"] | None:
    if owner is not None:
        return "thinking"
    return "waiting" if floor == BOT and due is not None else None


def _shown_chat(row: Row) -> ChatListItem:
    read, unread, sees_after, *last = row[rows.CHAT :]
    return ChatListItem(
        chat=rows.chat(row),
        read=read,
        unread=unread,
        sees_after=sees_after,
        last=None if last[0] is None or last[1] <= sees_after else conversation_rows.entry(last),
    )

"""Intents of users in conversations and chats: post, rename, assign, delete, mark as read."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from waypost.adapters.sql.kernel.conversation_work import ConversationWork, NewEntry, StoredPost, feed_of
from waypost.adapters.sql.kernel.intent import Keys
from waypost.adapters.sql.kernel.transaction_state import TransactionState
from waypost.adapters.sql.kernel.turn_intents import add_floor_items, floor_entry
from waypost.model.audit import AuditAction, AuditEntry, Entity
from waypost.model.chat import LARGEST_IN_FEEDS, MOST_MEMBERS, Chat, Member, MemberChange, NewChat, NewPost, WorkChange
from waypost.model.conversation import Conversation, ConversationId, Entry, Position
from waypost.model.dossier import ConsentStatus
from waypost.model.ids import MessageId, OrgId, UserId
from waypost.model.message import Status
from waypost.model.time import Instant
from waypost.ports.conversations.chats import (
    ChatMessageNotFound,
    ChatNotFound,
    ConsentRefused,
    GroupFull,
    NotTheAuthor,
    PostAnswer,
    PostConflict,
    Posted,
    ReadMarker,
)
from waypost.rules.conversations import entry_ids, turn_state
from waypost.rules.conversations.entry_ids import EntryId
from waypost.rules.sending import delivery
from waypost.rules.sending.send_checks import refused_by_consent

_TAKEN_BACK = "it was taken back before it left"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _org_of(conversations: ConversationWork, where: ConversationId) -> OrgId | None:
    found = conversations.by_id.get(where) or conversations.chats.get(where)
    return found.org_id if found else None


@dataclass(frozen=True, slots=True)
class AddPost:
    """Every post takes this path: deduplication, position, feeds, and the outbox if it goes to a customer."""

    post: NewPost
    now: Instant

    def needs(self, keys: Keys) -> None:
        post = self.post
        keys.chat_keys.posts.append(post)
        if post.with_customer:
            keys.conversations.add(post.conversation_id)
        else:
            keys.chat_keys.chats.add(post.conversation_id)
            keys.chat_keys.voices.add((post.conversation_id, UserId(post.sender)))

    def decide(self, work: TransactionState) -> PostAnswer:
        post, conversations = self.post, work.conversations
        if _org_of(conversations, post.conversation_id) != post.org_id:
            return ChatNotFound()
        known = conversations.posted.get((post.sender, post.client_message_id))
        if known is not None and known.digest == post.digest:
            return Posted(known.conversation_id, known.position, known.id_at, duplicate=True)
        if not post.with_customer and post.sender not in conversations.members[post.conversation_id]:
            return ChatNotFound()  # checked before the id, so that a non-member learns nothing of the chat
        return self._store(work) if known is None else PostConflict()

    def _store(self, work: TransactionState) -> PostAnswer:
        post, conversations = self.post, work.conversations
        sent: MessageId | None = None
        if post.draft is not None:
            stored = work.stored.get((post.org_id, post.draft.idempotency_key))
            if stored is None:
                return ConsentRefused(refused_by_consent(False, None, ConsentStatus.REVOKED) or "")
            sent = stored[0]
        where = post.conversation_id
        entry = NewEntry(
            post.sender,
            post.type,
            post.body,
            self.now,
            message_id=sent,
            client_message_id=post.client_message_id,
        )
        position = conversations.add_entry(where, entry, self.now)
        if post.file is not None:
            conversations.attach(post.file, where, position, self.now)
        id_at = (conversations.by_id.get(where) or conversations.chats[where]).last_id_at
        conversations.posts.append((post.sender, post.client_message_id, where, position, id_at, post.digest))
        conversations.posted[post.sender, post.client_message_id] = StoredPost(where, position, id_at, post.digest)
        if post.draft is not None:
            conversations.turn(turn_state.human_replied(conversations.turn_states[where]))
        return Posted(where, position, id_at, duplicate=False, message_id=sent)


@dataclass(frozen=True, slots=True)
class CreateChat:
    new: NewChat
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.chat_keys.openings.append((self.new, self.now))

    def decide(self, work: TransactionState) -> Chat:
        conversations = work.conversations
        id_ = conversations.opened[self.new.org_id, self.new.pair]
        if id_ in conversations.new:
            conversations.new.discard(id_)
            _add(conversations.chats[id_], self.new.members, self.new.members[0], conversations, self.now)
        return conversations.chats[id_]


def _add(chat: Chat, users: tuple[UserId, ...], by: UserId, conversations: ConversationWork, now: Instant) -> None:
    """Add members: they get a `joined` item, and the other members a `members` item."""
    members = conversations.members[chat.id]
    before = list(members)
    sees_after = Position(0) if chat.history == "all" else chat.position
    for user in users:
        members[user] = Member(conversation_id=chat.id, user_id=user, sees_after=sees_after, feed_from=0, joined_at=now)
    moves = not chat.own_feed and len(members) > LARGEST_IN_FEEDS
    if moves:
        chat = replace(chat, own_feed=True)
        conversations.move(chat)
    affected = users if not moves else tuple(members)
    if chat.own_feed:
        since = conversations.head_of(chat)
        for user in affected:
            members[user] = replace(members[user], feed_from=since)
    conversations.joining += [members[user] for user in affected]
    joins = {"feed": chat.feed, "from": conversations.head_of(chat)} if chat.own_feed else None
    body = _json({"user_ids": list(users), "by": by, "joins": joins})
    for user in sorted(affected):
        conversations.add_item_to_feed(feed_of(user), chat.id, "joined", now, body=body)
    news = _json({"added": list(users), "removed": [], "by": by, "members": len(members)})
    if chat.own_feed:
        conversations.add_item_to_feed(chat.feed, chat.id, "members", now, body=news)
    else:
        for user in sorted(before):
            conversations.add_item_to_feed(feed_of(user), chat.id, "members", now, body=news)


def _remove(chat: Chat, users: tuple[UserId, ...], by: UserId, conversations: ConversationWork, now: Instant) -> None:
    """Remove members: they and the remaining members get a last `members` item."""
    members = conversations.members[chat.id]
    left = [user for user in members if user not in users]
    news = _json({"added": [], "removed": list(users), "by": by, "members": len(left)})
    feeds = [chat.feed] if chat.own_feed else [feed_of(user) for user in sorted(left)]
    for feed in [*feeds, *(feed_of(user) for user in sorted(users))]:
        conversations.add_item_to_feed(feed, chat.id, "members", now, body=news)
    for user in users:
        del members[user]
        conversations.leaving.append((chat.id, user))
    conversations.joining = [
        one for one in conversations.joining if one.conversation_id != chat.id or one.user_id not in users
    ]


@dataclass(frozen=True, slots=True)
class ChangeChatMembers:
    org: OrgId
    chat: ConversationId
    change: MemberChange
    by: UserId
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.chat_keys.chats.add(self.chat)
        keys.chat_keys.rosters.add(self.chat)

    def decide(self, work: TransactionState) -> list[Member] | ChatNotFound | GroupFull:
        conversations = work.conversations
        if _org_of(conversations, self.chat) != self.org or self.by not in conversations.members[self.chat]:
            return ChatNotFound()
        members = conversations.members[self.chat]
        gone = tuple(user for user in dict.fromkeys(self.change.remove) if user in members)
        new = tuple(user for user in dict.fromkeys(self.change.add) if user not in members)
        if len(members) - len(gone) + len(new) > MOST_MEMBERS:
            return GroupFull()
        if gone:
            _remove(conversations.chats[self.chat], gone, self.by, conversations, self.now)
        if new:
            _add(conversations.chats[self.chat], new, self.by, conversations, self.now)
        return list(members.values())


@dataclass(frozen=True, slots=True)
class RenameChat:
    org: OrgId
    chat: ConversationId
    title: str | None
    by: UserId
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.chat_keys.chats.add(self.chat)
        keys.chat_keys.voices.add((self.chat, self.by))

    def decide(self, work: TransactionState) -> Chat | ChatNotFound:
        conversations = work.conversations
        if _org_of(conversations, self.chat) != self.org or self.by not in conversations.members[self.chat]:
            return ChatNotFound()
        after = replace(conversations.chats[self.chat], title=self.title)
        conversations.move(after)
        conversations.add_feed_items(
            self.chat, "members", self.now, body=_json({"added": [], "removed": [], "title": self.title})
        )
        return after


@dataclass(frozen=True, slots=True)
class ChangeConversationWork:
    org: OrgId
    conversation: ConversationId
    change: WorkChange
    by: str
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.conversations.add(self.conversation)

    def decide(self, work: TransactionState) -> Conversation | ChatNotFound:
        before = work.conversations.by_id.get(self.conversation)
        if before is None or before.org_id != self.org:
            return ChatNotFound()
        given = {
            name: value for name, value in msgspec.structs.asdict(self.change).items() if value is not msgspec.UNSET
        }
        after = replace(before, **given)
        if after != before:
            work.conversations.work(after, self.now)
            work.audited.append(self._entry(given))
            if after.state == "closed" != before.state:
                self._give_back_floor(work)
        return after

    def _give_back_floor(self, work: TransactionState) -> None:
        before = work.conversations.turn_states[self.conversation]
        after = turn_state.close(before)
        if after is not before:
            work.conversations.turn(after)
            add_floor_items(after, self.now, work)
            work.audited.append(floor_entry(after, self.by, self.now, f"from {before.floor} to {after.floor}: closed"))

    def _entry(self, given: dict[str, object]) -> AuditEntry:
        return AuditEntry(
            org_id=self.org,
            at=self.now,
            entity_type=Entity.CONVERSATION,
            entity_id=str(self.conversation),
            action=AuditAction.UPDATED,
            actor=self.by,
            details=_json(given),
        )


@dataclass(frozen=True, slots=True)
class EraseMessage:
    org: OrgId
    message: EntryId
    with_customer: bool
    by: UserId
    anybodys: bool
    now: Instant

    def needs(self, keys: Keys) -> None:
        where = self.message.conversation_id
        keys.chat_keys.entries.add((where, self.message.position))
        keys.chat_keys.taken_back.add((where, self.message.position))
        if self.with_customer:
            keys.conversations.add(where)
        else:
            keys.chat_keys.chats.add(where)
            keys.chat_keys.voices.add((where, self.by))

    def decide(self, work: TransactionState) -> ChatNotFound | ChatMessageNotFound | NotTheAuthor | None:
        conversations, where = work.conversations, self.message.conversation_id
        if _org_of(conversations, where) != self.org or not self._takes_part(conversations):
            return ChatNotFound()
        found = _meant(self.message, conversations)
        if found is None:
            return ChatMessageNotFound()
        if found.deleted_at is not None:
            return None
        if found.sender != self.by and not self.anybodys:
            return NotTheAuthor()
        self._erase(found, work)
        return None

    def _erase(self, found: Entry, work: TransactionState) -> None:
        conversations, place = work.conversations, (found.conversation_id, found.position)
        conversations.erased.append((*place, self.now))
        conversations.found[place] = replace(found, deleted_at=self.now)
        body = _json({"message_id": entry_ids.made(self.message), "position": found.position, "by": self.by})
        conversations.add_feed_items(found.conversation_id, "deleted", self.now, body=body)
        if found.sender != self.by:
            work.audited.append(self._entry(found))
        waiting = work.deliveries.get(found.message_id) if found.message_id is not None else None
        if waiting is None:
            return
        after = delivery.withdraw(waiting, delivery.TAKEN_BACK, _TAKEN_BACK, self.now)
        work.change(after, self.now)
        if waiting.status is Status.QUEUED:
            work.note(after.message_id, self.now, "cancelled", _TAKEN_BACK)

    def _entry(self, found: Entry) -> AuditEntry:
        return AuditEntry(
            org_id=self.org,
            at=self.now,
            entity_type=Entity.CONVERSATION,
            entity_id=str(found.conversation_id),
            action=AuditAction.UPDATED,
            actor=self.by,
            details=f"message {found.position} of {found.sender} was taken back",
        )

    def _takes_part(self, conversations: ConversationWork) -> bool:
        return self.with_customer or self.anybodys or self.by in conversations.members[self.message.conversation_id]


@dataclass(frozen=True, slots=True)
class MarkReadUpTo:
    org: OrgId
    user: UserId
    message: EntryId
    with_customer: bool
    now: Instant

    def needs(self, keys: Keys) -> None:
        where = self.message.conversation_id
        keys.chat_keys.reads.add((self.user, where))
        keys.chat_keys.entries.add((where, self.message.position))
        if self.with_customer:
            keys.conversations.add(where)
        else:
            keys.chat_keys.chats.add(where)
            keys.chat_keys.voices.add((where, self.user))

    def decide(self, work: TransactionState) -> ReadMarker | ChatNotFound | ChatMessageNotFound:
        conversations, where = work.conversations, self.message.conversation_id
        if _org_of(conversations, where) != self.org:
            return ChatNotFound()
        if not self.with_customer and self.user not in conversations.members[where]:
            return ChatNotFound()
        if _meant(self.message, conversations) is None:
            return ChatMessageNotFound()
        wanted, before = self.message.position, conversations.read.get((self.user, where), Position(0))
        if wanted <= before:
            return ReadMarker(before, moved=False)
        conversations.read[self.user, where] = wanted
        conversations.marks[self.user, where] = (wanted, self.now)
        body = _json({"user_id": self.user, "position": wanted})
        if self.with_customer:
            conversations.add_item_to_feed(feed_of(self.user), where, "read", self.now, wanted, body)
        else:
            conversations.add_feed_items(where, "read", self.now, wanted, body)
        return ReadMarker(wanted, moved=True)


def _meant(message: EntryId, conversations: ConversationWork) -> Entry | None:
    """The entry of this id; after a merge of contacts, another entry may have its position."""
    found = conversations.found.get((message.conversation_id, message.position))
    return found if found is not None and found.id_at == message.id_at else None

"""What people say and change in conversations, in one transaction with everything else that is decided."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from waypost.adapters.sql.intents import Keys
from waypost.adapters.sql.talks import Known, Saying, Talks, feed_of
from waypost.adapters.sql.work import Work
from waypost.model.audit import Action, Entity, Entry
from waypost.model.chat import LARGEST_IN_FEEDS, MOST_MEMBERS, Chat, Member, MemberChange, NewChat, NewPost, WorkChange
from waypost.model.conversation import Conversation, ConversationId, Position
from waypost.model.dossier import ConsentStatus
from waypost.model.ids import MessageId, OrgId, UserId
from waypost.model.time import Instant
from waypost.ports.chats import (
    NoChat,
    NoConsent,
    NoMessage,
    NotYours,
    OtherContent,
    PostAnswer,
    Posted,
    ReadUp,
    TooMany,
)
from waypost.rules import entry_ids, lane
from waypost.rules.clearance import refused_by_consent
from waypost.rules.entry_ids import EntryId


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _org_of(talks: Talks, where: ConversationId) -> OrgId | None:
    found = talks.conversations.get(where) or talks.chats.get(where)
    return found.org_id if found else None


@dataclass(frozen=True, slots=True)
class Say:
    """One posting path for all: dedup, position, feeds, and the outbox where a customer is meant."""

    post: NewPost
    now: Instant

    def needs(self, keys: Keys) -> None:
        post = self.post
        keys.people.posts.append(post)
        if post.with_customer:
            keys.talks.add(post.conversation_id)
        else:
            keys.people.chats.add(post.conversation_id)
            keys.people.voices.add((post.conversation_id, UserId(post.sender)))

    def decide(self, work: Work) -> PostAnswer:
        post, talks = self.post, work.talks
        if _org_of(talks, post.conversation_id) != post.org_id:
            return NoChat()
        known = talks.posted.get((post.sender, post.client_message_id))
        if known is not None and known.digest == post.digest:
            return Posted(known.conversation_id, known.position, known.id_at, duplicate=True)
        if not post.with_customer and post.sender not in talks.members[post.conversation_id]:
            return NoChat()  # before anything is said of the id: who takes no part learns of no conversation
        return self._store(work) if known is None else OtherContent()

    def _store(self, work: Work) -> PostAnswer:
        post, talks = self.post, work.talks
        sent: MessageId | None = None
        if post.draft is not None:
            stored = work.stored.get((post.org_id, post.draft.idempotency_key))
            if stored is None:
                return NoConsent(refused_by_consent(False, None, ConsentStatus.REVOKED) or "")
            sent = stored[0]
        where = post.conversation_id
        said = Saying(
            post.sender,
            post.type,
            post.body,
            self.now,
            message_id=sent,
            client_message_id=post.client_message_id,
        )
        position = talks.say(where, said, self.now)
        id_at = (talks.conversations.get(where) or talks.chats[where]).last_id_at
        talks.posts.append((post.sender, post.client_message_id, where, position, id_at, post.digest))
        talks.posted[post.sender, post.client_message_id] = Known(where, position, id_at, post.digest)
        if post.draft is not None:
            talks.turn(lane.speak(talks.lanes[where]))
        return Posted(where, position, id_at, duplicate=False, message_id=sent)


@dataclass(frozen=True, slots=True)
class OpenChat:
    new: NewChat
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.people.openings.append((self.new, self.now))

    def decide(self, work: Work) -> Chat:
        talks = work.talks
        id_ = talks.opened[self.new.org_id, self.new.pair]
        if id_ in talks.new:
            talks.new.discard(id_)
            _add(talks.chats[id_], self.new.members, self.new.members[0], talks, self.now)
        return talks.chats[id_]


def _add(chat: Chat, users: tuple[UserId, ...], by: UserId, talks: Talks, now: Instant) -> None:
    """They are told where they are now; who was there before is told who came."""
    members = talks.members[chat.id]
    before = list(members)
    sees_after = Position(0) if chat.history == "all" else chat.position
    for user in users:
        members[user] = Member(conversation_id=chat.id, user_id=user, sees_after=sees_after, feed_from=0, joined_at=now)
    moves = not chat.own_feed and len(members) > LARGEST_IN_FEEDS
    if moves:
        chat = replace(chat, own_feed=True)
        talks.move(chat)
    told = users if not moves else tuple(members)
    if chat.own_feed:
        since = talks.head_of(chat)
        for user in told:
            members[user] = replace(members[user], feed_from=since)
    talks.joining += [members[user] for user in told]
    joins = {"feed": chat.feed, "from": talks.head_of(chat)} if chat.own_feed else None
    body = _json({"user_ids": list(users), "by": by, "joins": joins})
    for user in sorted(told):
        talks.tell_one(feed_of(user), chat.id, "joined", now, body=body)
    news = _json({"added": list(users), "removed": [], "by": by, "members": len(members)})
    if chat.own_feed:
        talks.tell_one(chat.feed, chat.id, "members", now, body=news)
    else:
        for user in sorted(before):
            talks.tell_one(feed_of(user), chat.id, "members", now, body=news)


def _remove(chat: Chat, users: tuple[UserId, ...], by: UserId, talks: Talks, now: Instant) -> None:
    """Told to those who stay and to those who go, and then no more to these."""
    members = talks.members[chat.id]
    left = [user for user in members if user not in users]
    news = _json({"added": [], "removed": list(users), "by": by, "members": len(left)})
    feeds = [chat.feed] if chat.own_feed else [feed_of(user) for user in sorted(left)]
    for feed in [*feeds, *(feed_of(user) for user in sorted(users))]:
        talks.tell_one(feed, chat.id, "members", now, body=news)
    for user in users:
        del members[user]
        talks.leaving.append((chat.id, user))


@dataclass(frozen=True, slots=True)
class ChangeMembers:
    org: OrgId
    chat: ConversationId
    change: MemberChange
    by: UserId
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.people.chats.add(self.chat)
        keys.people.rosters.add(self.chat)

    def decide(self, work: Work) -> list[Member] | NoChat | TooMany:
        talks = work.talks
        if _org_of(talks, self.chat) != self.org or self.by not in talks.members[self.chat]:
            return NoChat()
        members = talks.members[self.chat]
        gone = tuple(user for user in dict.fromkeys(self.change.remove) if user in members)
        new = tuple(user for user in dict.fromkeys(self.change.add) if user not in members)
        if len(members) - len(gone) + len(new) > MOST_MEMBERS:
            return TooMany()
        if gone:
            _remove(talks.chats[self.chat], gone, self.by, talks, self.now)
        if new:
            _add(talks.chats[self.chat], new, self.by, talks, self.now)
        return list(members.values())


@dataclass(frozen=True, slots=True)
class Rename:
    org: OrgId
    chat: ConversationId
    title: str | None
    by: UserId
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.people.chats.add(self.chat)
        keys.people.voices.add((self.chat, self.by))

    def decide(self, work: Work) -> Chat | NoChat:
        talks = work.talks
        if _org_of(talks, self.chat) != self.org or self.by not in talks.members[self.chat]:
            return NoChat()
        after = replace(talks.chats[self.chat], title=self.title)
        talks.move(after)
        talks.tell(self.chat, "members", self.now, body=_json({"added": [], "removed": [], "title": self.title}))
        return after


@dataclass(frozen=True, slots=True)
class ChangeWork:
    org: OrgId
    conversation: ConversationId
    change: WorkChange
    by: str
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.talks.add(self.conversation)

    def decide(self, work: Work) -> Conversation | NoChat:
        before = work.talks.conversations.get(self.conversation)
        if before is None or before.org_id != self.org:
            return NoChat()
        given = {
            name: value for name, value in msgspec.structs.asdict(self.change).items() if value is not msgspec.UNSET
        }
        after = replace(before, **given)
        if after != before:
            work.talks.work(after, self.now)
            work.audited.append(self._entry(given))
        return after

    def _entry(self, given: dict[str, object]) -> Entry:
        return Entry(
            org_id=self.org,
            at=self.now,
            entity_type=Entity.CONVERSATION,
            entity_id=str(self.conversation),
            action=Action.UPDATED,
            actor=self.by,
            details=_json(given),
        )


@dataclass(frozen=True, slots=True)
class Erase:
    org: OrgId
    conversation: ConversationId
    position: Position
    with_customer: bool
    by: UserId | None
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.people.entries.add((self.conversation, self.position))
        if self.with_customer:
            keys.talks.add(self.conversation)
        else:
            keys.people.chats.add(self.conversation)
            if self.by is not None:
                keys.people.voices.add((self.conversation, self.by))

    def decide(self, work: Work) -> NoChat | NoMessage | NotYours | None:
        talks = work.talks
        if _org_of(talks, self.conversation) != self.org or not self._takes_part(talks):
            return NoChat()
        found = talks.found.get((self.conversation, self.position))
        if found is None:
            return NoMessage()
        if found.deleted_at is not None:
            return None
        if self.by is not None and found.sender != self.by:
            return NotYours()
        talks.erased.append((self.conversation, self.position, self.now))
        talks.found[self.conversation, self.position] = replace(found, deleted_at=self.now)
        shown = EntryId(conversation_id=self.conversation, position=self.position, id_at=found.id_at)
        body = _json({"message_id": entry_ids.made(shown), "position": self.position, "by": self.by})
        talks.tell(self.conversation, "deleted", self.now, body=body)
        return None

    def _takes_part(self, talks: Talks) -> bool:
        return self.with_customer or self.by is None or self.by in talks.members[self.conversation]


@dataclass(frozen=True, slots=True)
class ReadUpTo:
    org: OrgId
    user: UserId
    conversation: ConversationId
    position: Position
    with_customer: bool
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.people.reads.add((self.user, self.conversation))
        if self.with_customer:
            keys.talks.add(self.conversation)
        else:
            keys.people.chats.add(self.conversation)
            keys.people.voices.add((self.conversation, self.user))

    def decide(self, work: Work) -> ReadUp | NoChat:
        talks, key = work.talks, (self.user, self.conversation)
        if _org_of(talks, self.conversation) != self.org:
            return NoChat()
        if not self.with_customer and self.user not in talks.members[self.conversation]:
            return NoChat()
        last = (talks.conversations.get(self.conversation) or talks.chats[self.conversation]).position
        wanted, before = min(self.position, last), talks.read.get(key, Position(0))
        if wanted <= before:
            return ReadUp(before, moved=False)
        talks.read[key] = wanted
        talks.marks[key] = (wanted, self.now)
        body = _json({"user_id": self.user, "position": wanted})
        if self.with_customer:
            talks.tell_one(feed_of(self.user), self.conversation, "read", self.now, wanted, body)
        else:
            talks.tell(self.conversation, "read", self.now, wanted, body)
        return ReadUp(wanted, moved=True)

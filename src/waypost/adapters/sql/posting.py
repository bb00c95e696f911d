"""What people say and change in conversations, in one transaction with everything else that is decided."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from waypost.adapters.sql.intents import Keys
from waypost.adapters.sql.talks import Known, Saying, Talks, feed_of
from waypost.adapters.sql.turns import floor_entry, tell_floor
from waypost.adapters.sql.work import Work
from waypost.model.audit import Action, Entity, Entry
from waypost.model.chat import LARGEST_IN_FEEDS, MOST_MEMBERS, Chat, Member, MemberChange, NewChat, NewPost, WorkChange
from waypost.model.conversation import Conversation, ConversationId, Position
from waypost.model.conversation import Entry as Said
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
from waypost.rules import delivery, entry_ids, lane
from waypost.rules.clearance import refused_by_consent
from waypost.rules.entry_ids import EntryId

TAKEN_BACK = "TAKEN_BACK"
_TAKEN_BACK = "it was taken back before it left"


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
        if post.file is not None:
            talks.attach(post.file, where, position, self.now)
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
    talks.joining = [one for one in talks.joining if one.conversation_id != chat.id or one.user_id not in users]


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
            if after.state == "closed" != before.state:
                self._give_back_floor(work)
        return after

    def _give_back_floor(self, work: Work) -> None:
        before = work.talks.lanes[self.conversation]
        after = lane.close(before)
        if after is not before:
            work.talks.turn(after)
            tell_floor(after, self.now, work)
            work.audited.append(floor_entry(after, self.by, self.now, f"from {before.floor} to {after.floor}: closed"))

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
    message: EntryId
    with_customer: bool
    by: UserId
    anybodys: bool
    now: Instant

    def needs(self, keys: Keys) -> None:
        where = self.message.conversation_id
        keys.people.entries.add((where, self.message.position))
        keys.people.taken_back.add((where, self.message.position))
        if self.with_customer:
            keys.talks.add(where)
        else:
            keys.people.chats.add(where)
            keys.people.voices.add((where, self.by))

    def decide(self, work: Work) -> NoChat | NoMessage | NotYours | None:
        talks, where = work.talks, self.message.conversation_id
        if _org_of(talks, where) != self.org or not self._takes_part(talks):
            return NoChat()
        found = _meant(self.message, talks)
        if found is None:
            return NoMessage()
        if found.deleted_at is not None:
            return None
        if found.sender != self.by and not self.anybodys:
            return NotYours()
        self._erase(found, work)
        return None

    def _erase(self, found: Said, work: Work) -> None:
        talks, place = work.talks, (found.conversation_id, found.position)
        talks.erased.append((*place, self.now))
        talks.found[place] = replace(found, deleted_at=self.now)
        body = _json({"message_id": entry_ids.made(self.message), "position": found.position, "by": self.by})
        talks.tell(found.conversation_id, "deleted", self.now, body=body)
        if found.sender != self.by:
            work.audited.append(self._entry(found))
        waiting = work.deliveries.get(found.message_id) if found.message_id is not None else None
        after = delivery.cancel(waiting, self.now) if waiting is not None else None
        if after is not None and after is not waiting:
            work.change(replace(after, error_code=TAKEN_BACK, error_message=_TAKEN_BACK), self.now)
            work.note(after.message_id, self.now, "cancelled", _TAKEN_BACK)

    def _entry(self, found: Said) -> Entry:
        return Entry(
            org_id=self.org,
            at=self.now,
            entity_type=Entity.CONVERSATION,
            entity_id=str(found.conversation_id),
            action=Action.UPDATED,
            actor=self.by,
            details=f"message {found.position} of {found.sender} was taken back",
        )

    def _takes_part(self, talks: Talks) -> bool:
        return self.with_customer or self.anybodys or self.by in talks.members[self.message.conversation_id]


@dataclass(frozen=True, slots=True)
class ReadUpTo:
    org: OrgId
    user: UserId
    message: EntryId
    with_customer: bool
    now: Instant

    def needs(self, keys: Keys) -> None:
        where = self.message.conversation_id
        keys.people.reads.add((self.user, where))
        keys.people.entries.add((where, self.message.position))
        if self.with_customer:
            keys.talks.add(where)
        else:
            keys.people.chats.add(where)
            keys.people.voices.add((where, self.user))

    def decide(self, work: Work) -> ReadUp | NoChat | NoMessage:
        talks, where = work.talks, self.message.conversation_id
        if _org_of(talks, where) != self.org:
            return NoChat()
        if not self.with_customer and self.user not in talks.members[where]:
            return NoChat()
        if _meant(self.message, talks) is None:
            return NoMessage()
        wanted, before = self.message.position, talks.read.get((self.user, where), Position(0))
        if wanted <= before:
            return ReadUp(before, moved=False)
        talks.read[self.user, where] = wanted
        talks.marks[self.user, where] = (wanted, self.now)
        body = _json({"user_id": self.user, "position": wanted})
        if self.with_customer:
            talks.tell_one(feed_of(self.user), where, "read", self.now, wanted, body)
        else:
            talks.tell(where, "read", self.now, wanted, body)
        return ReadUp(wanted, moved=True)


def _meant(message: EntryId, talks: Talks) -> Said | None:
    """The entry that an id names; after two contacts were joined, another one may have its place."""
    found = talks.found.get((message.conversation_id, message.position))
    return found if found is not None and found.id_at == message.id_at else None

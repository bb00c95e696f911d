"""Internal chats in one transaction: opened, locked after every customer conversation, and written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from waypost.adapters.sql.engine.group_commit import TransactionConflict
from waypost.adapters.sql.engine.plan import Plan, Row, each
from waypost.adapters.sql.kernel.conversation_work import ConversationWork, StoredPost
from waypost.model.chat import Chat, ChatKind, Member, NewChat, NewPost
from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import UserId
from waypost.model.time import Instant


@dataclass(slots=True)
class ChatKeys:
    """The chat, post and read-marker keys that a batch needs."""

    openings: list[tuple[NewChat, Instant]] = field(default_factory=list)
    chats: set[ConversationId] = field(default_factory=set)
    rosters: set[ConversationId] = field(default_factory=set)
    """Chats whose members are all read, however many there are."""
    voices: set[tuple[ConversationId, UserId]] = field(default_factory=set)
    """The members who act in a chat."""
    posts: list[NewPost] = field(default_factory=list)
    reads: set[tuple[str, ConversationId]] = field(default_factory=set)
    entries: set[tuple[ConversationId, Position]] = field(default_factory=set)
    taken_back: set[tuple[ConversationId, Position]] = field(default_factory=set)
    """Deleted entries: their messages are cancelled if they are still queued."""

    def __bool__(self) -> bool:
        return bool(self.openings or self.chats or self.posts or self.reads or self.entries)


CHAT = 10
"""Columns of a chat."""


def chat(row: Row) -> Chat:
    return Chat(
        id=row[0],
        org_id=row[1],
        kind=ChatKind(row[2]),
        title=row[3],
        pair=row[4],
        own_feed=bool(row[5]),
        history=row[6],
        position=row[7],
        last_id_at=row[8],
        created_at=row[9],
    )


def member(row: Row) -> Member:
    return Member(conversation_id=row[0], user_id=row[1], sees_after=row[2], feed_from=row[3], joined_at=row[4])


def enter(keys: ChatKeys, conversations: ConversationWork) -> Plan[None]:
    """Lock the chats in the order of their ids, then read their members, posts and read markers."""
    yield from _open(keys.openings, conversations)
    wanted = keys.chats | set(conversations.opened.values())
    for row in (yield from each("chat_lock", [(id_,) for id_ in sorted(wanted)])):
        conversations.chats[row[0]] = chat(row)
    if not conversations.chats.keys() >= set(conversations.opened.values()):
        raise TransactionConflict("another process opened the chat in the meantime")
    yield from _find_members(keys, conversations)
    yield from _find_heads(conversations)
    names = sorted({(post.sender, post.client_message_id) for post in keys.posts})
    for sender, name, where, position, id_at, digest in (yield from each("post_find", names)):
        conversations.posted[sender, name] = StoredPost(where, position, id_at, bytes(digest))
    for user, where, position in (yield from each("read_find", sorted(keys.reads))):
        conversations.read[user, where] = position


def _open(openings: Sequence[tuple[NewChat, Instant]], conversations: ConversationWork) -> Plan[None]:
    wanted = {(new.org_id, new.pair): (new, now) for new, now in reversed(openings)}
    ordered = [wanted[key] for key in sorted(wanted)]
    rows = [(new.org_id, new.kind.value, now, new.title, new.pair, new.history) for new, now in ordered]
    for org, pair, id_ in (yield from each("chat_open", rows)):
        conversations.opened[org, pair] = id_
        conversations.new.add(id_)
    missing = [key for key in sorted(wanted) if key not in conversations.opened]
    for org, pair, id_ in (yield from each("chat_by_pair", missing)):
        conversations.opened[org, pair] = id_


def _find_members(keys: ChatKeys, conversations: ConversationWork) -> Plan[None]:
    small = {id_ for id_, found in conversations.chats.items() if not found.own_feed}
    whole = sorted(small | (keys.rosters & conversations.chats.keys()))
    for id_ in conversations.chats:
        conversations.members[id_] = {}
    found = yield from each("members_of", [(id_,) for id_ in whole])
    few = sorted(key for key in keys.voices if key[0] in conversations.chats and key[0] not in whole)
    found = [*found, *(yield from each("member_find", few))]
    for one in map(member, found):
        conversations.members[one.conversation_id][one.user_id] = one


def _find_heads(conversations: ConversationWork) -> Plan[None]:
    large = {found.feed: id_ for id_, found in conversations.chats.items() if found.own_feed}
    for name, head in (yield from each("feed_find", [(feed,) for feed in sorted(large)])):
        conversations.heads[large[name]] = head


def find_entries(wanted: Iterable[tuple[ConversationId, Position]], conversations: ConversationWork) -> Plan[list[Row]]:
    here = conversations.by_id.keys() | conversations.chats.keys()
    return (yield from each("entry_find", sorted(key for key in wanted if key[0] in here)))


def writes(conversations: ConversationWork) -> list[Plan[list[Row]]]:
    """Each writes a table of its own, and each row once."""
    moved = [conversations.chats[id_] for id_ in sorted(conversations.moved & conversations.chats.keys())]
    gone = sorted({(row[0], row[1]) for row in conversations.erased})
    return [
        each("chat_put", [(c.id, c.position, c.last_id_at, c.title, c.own_feed) for c in moved]),
        each("entry_erase", conversations.erased),
        each("search_drop", gone),
        each("media_erase", gone),
        each("read_put", [(*key, *conversations.marks[key]) for key in sorted(conversations.marks)]),
        each("member_put", _joining(conversations)),
    ]


def write_apart(conversations: ConversationWork) -> Plan[None]:
    """Writes to rows that other statements change too."""
    worked = [conversations.by_id[id_] for id_ in sorted(conversations.worked)]
    yield from each("work_put", [(c.id, c.assignee, c.state, _labels(c.labels)) for c in worked])
    yield from each("member_drop", sorted(conversations.leaving))


def _joining(conversations: ConversationWork) -> list[Row]:
    """A member who left and rejoined in one commit is already deleted at this point."""
    last = {(one.conversation_id, one.user_id): one for one in conversations.joining}
    return [msgspec.structs.astuple(last[key]) for key in sorted(last)]


def _labels(labels: Sequence[str]) -> str:
    return msgspec.json.encode(list(labels)).decode()

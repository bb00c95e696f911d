"""Chats of people among themselves in one transaction: opened, locked after every customer's, and written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from waypost.adapters.sql.group_commit import Conflict
from waypost.adapters.sql.plan import Plan, Row, each
from waypost.adapters.sql.talks import Known, Talks
from waypost.model.chat import Chat, ChatKind, Member, NewChat, NewPost
from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import UserId
from waypost.model.time import Instant


@dataclass(slots=True)
class ChatKeys:
    """What a batch needs to know of chats, posts and who has read what."""

    openings: list[tuple[NewChat, Instant]] = field(default_factory=list)
    chats: set[ConversationId] = field(default_factory=set)
    rosters: set[ConversationId] = field(default_factory=set)
    """Chats of which every member is asked for, however many."""
    voices: set[tuple[ConversationId, UserId]] = field(default_factory=set)
    """Who wants to say something where."""
    posts: list[NewPost] = field(default_factory=list)
    reads: set[tuple[str, ConversationId]] = field(default_factory=set)
    entries: set[tuple[ConversationId, Position]] = field(default_factory=set)
    taken_back: set[tuple[ConversationId, Position]] = field(default_factory=set)
    """Of these, what was to go out with them and still waits is cancelled."""

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


def enter(keys: ChatKeys, talks: Talks) -> Plan[None]:
    """The chats are locked in the order of their ids; then what was posted, read and said there is read."""
    yield from _open(keys.openings, talks)
    wanted = keys.chats | set(talks.opened.values())
    for row in (yield from each("chat_lock", [(id_,) for id_ in sorted(wanted)])):
        talks.chats[row[0]] = chat(row)
    if not talks.chats.keys() >= set(talks.opened.values()):
        raise Conflict("a chat was opened by somebody else in the meantime")
    yield from _find_members(keys, talks)
    yield from _find_heads(talks)
    names = sorted({(post.sender, post.client_message_id) for post in keys.posts})
    for sender, name, where, position, id_at, digest in (yield from each("post_find", names)):
        talks.posted[sender, name] = Known(where, position, id_at, bytes(digest))
    for user, where, position in (yield from each("read_find", sorted(keys.reads))):
        talks.read[user, where] = position


def _open(openings: Sequence[tuple[NewChat, Instant]], talks: Talks) -> Plan[None]:
    wanted = {(new.org_id, new.pair): (new, now) for new, now in reversed(openings)}
    ordered = [wanted[key] for key in sorted(wanted)]
    rows = [(new.org_id, new.kind.value, now, new.title, new.pair, new.history) for new, now in ordered]
    for org, pair, id_ in (yield from each("chat_open", rows)):
        talks.opened[org, pair] = id_
        talks.new.add(id_)
    missing = [key for key in sorted(wanted) if key not in talks.opened]
    for org, pair, id_ in (yield from each("chat_by_pair", missing)):
        talks.opened[org, pair] = id_


def _find_members(keys: ChatKeys, talks: Talks) -> Plan[None]:
    small = {id_ for id_, found in talks.chats.items() if not found.own_feed}
    whole = sorted(small | (keys.rosters & talks.chats.keys()))
    for id_ in talks.chats:
        talks.members[id_] = {}
    found = yield from each("members_of", [(id_,) for id_ in whole])
    few = sorted(pair for pair in keys.voices if pair[0] in talks.chats and pair[0] not in whole)
    found = [*found, *(yield from each("member_find", few))]
    for one in map(member, found):
        talks.members[one.conversation_id][one.user_id] = one


def _find_heads(talks: Talks) -> Plan[None]:
    large = {found.feed: id_ for id_, found in talks.chats.items() if found.own_feed}
    for name, head in (yield from each("feed_find", [(feed,) for feed in sorted(large)])):
        talks.heads[large[name]] = head


def find_entries(wanted: Iterable[tuple[ConversationId, Position]], talks: Talks) -> Plan[list[Row]]:
    here = talks.conversations.keys() | talks.chats.keys()
    return (yield from each("entry_find", sorted(key for key in wanted if key[0] in here)))


def writes(talks: Talks) -> list[Plan[list[Row]]]:
    """To tables of their own each; a row is written once."""
    moved = [talks.chats[id_] for id_ in sorted(talks.moved & talks.chats.keys())]
    gone = sorted({(row[0], row[1]) for row in talks.erased})
    return [
        each("chat_put", [(c.id, c.position, c.last_id_at, c.title, c.own_feed) for c in moved]),
        each("entry_erase", talks.erased),
        each("search_drop", gone),
        each("media_erase", gone),
        each("read_put", [(*key, *talks.marks[key]) for key in sorted(talks.marks)]),
        each("member_put", _joining(talks)),
    ]


def write_apart(talks: Talks) -> Plan[None]:
    """What changes rows that are changed elsewhere, too."""
    worked = [talks.conversations[id_] for id_ in sorted(talks.worked)]
    yield from each("work_put", [(c.id, c.assignee, c.state, _labels(c.labels)) for c in worked])
    yield from each("member_drop", sorted(talks.leaving))


def _joining(talks: Talks) -> list[Row]:
    """Whoever left and came back in one commit was dropped before this."""
    last = {(one.conversation_id, one.user_id): one for one in talks.joining}
    return [msgspec.structs.astuple(last[key]) for key in sorted(last)]


def _labels(labels: Sequence[str]) -> str:
    return msgspec.json.encode(list(labels)).decode()

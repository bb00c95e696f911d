"""What each user may see, read directly from the Ledger's tables, past every port."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from waypost.model.message import Status
from waypost.rules.conversations import entry_ids
from waypost.rules.conversations.chat_status import chat_status
from waypost.rules.conversations.entry_ids import EntryId

KEEP_EVERYTHING = """
CREATE TABLE told_for_ever (feed TEXT, seq INTEGER, kind TEXT, conversation_id INTEGER, position INTEGER, body TEXT);
CREATE TRIGGER told AFTER INSERT ON feed_item BEGIN
    INSERT INTO told_for_ever VALUES (new.feed, new.seq, new.kind, new.conversation_id, new.position, new.body);
END;
CREATE TABLE said_for_ever (conversation_id INTEGER, id_at INTEGER, body TEXT);
CREATE TRIGGER emptied AFTER UPDATE ON entry WHEN new.body = '' AND old.body <> '' BEGIN
    INSERT INTO said_for_ever VALUES (
        coalesce(new.kept_in, new.conversation_id), coalesce(new.kept_at, new.id_at), old.body
    );
END;
"""
"""Feed items are pruned and bodies are archived; these triggers keep both for the checkers."""
Rows = Callable[[str], list[Any]]


@dataclass(frozen=True)
class LedgerEntry:
    """An entry of a conversation."""

    conversation: str
    position: int
    message_id: str
    sender: str
    client_message_id: str | None
    text: str | None
    deleted: bool
    shown_status: str | None
    """Of a message to a customer."""
    archive_key: tuple[int, int]
    """Its key in the history store: conversation and time of the id."""
    body: str
    """Before archiving."""
    emptied: bool
    """Only the history store has its body."""


@dataclass(frozen=True)
class LedgerMember:
    sees_after: int


@dataclass(frozen=True)
class LedgerConversation:
    id: str
    org: str
    kind: str
    work: tuple[str | None, str, tuple[str, ...]]


@dataclass(frozen=True)
class LedgerFeedItem:
    feed: str
    seq: int
    kind: str
    conversation: str
    body: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class LedgerSnapshot:
    conversations: dict[str, LedgerConversation]
    entries: dict[str, dict[int, LedgerEntry]]
    """Conversation -> position -> entry."""
    members: dict[tuple[str, str], LedgerMember]
    """(conversation, person) -> since when."""
    reads: dict[tuple[str, str], int]
    """(person, conversation) -> up to where."""
    feed_items: dict[str, list[LedgerFeedItem]]
    """Feed -> every item it ever had, in order."""
    heads: dict[str, int]
    chats: set[str] = field(default_factory=set)

    def visible(self, org: str, person: str) -> dict[str, dict[int, LedgerEntry]]:
        """What a user may see at this moment."""
        seen = {}
        for id_, conversation in self.conversations.items():
            member = self.members.get((id_, person))
            if conversation.org == org and (conversation.kind == "customer" or member is not None):
                after = 0 if member is None else member.sees_after
                seen[id_] = {at: entry for at, entry in self.entries.get(id_, {}).items() if at > after}
        return seen


def truth(rows: Rows) -> LedgerSnapshot:
    entries: dict[str, dict[int, LedgerEntry]] = {}
    for row in rows(_ENTRIES):
        entry = _entry(row)
        entries.setdefault(entry.conversation, {})[entry.position] = entry
    feed_items: dict[str, list[LedgerFeedItem]] = {}
    for feed, seq, kind, where, _, body in rows("SELECT * FROM told_for_ever ORDER BY feed, seq"):
        feed_items.setdefault(feed, []).append(LedgerFeedItem(feed, seq, kind, str(where), msgspec.json.decode(body)))
    conversations = [_conversation(row) for row in rows(_CONVERSATIONS)]
    return LedgerSnapshot(
        conversations={conversation.id: conversation for conversation in conversations},
        entries=entries,
        members={(str(where), user): LedgerMember(after) for where, user, after in rows(_MEMBERS)},
        reads={(user, str(where)): at for user, where, at in rows(_READS)},
        feed_items=feed_items,
        heads=dict(rows("SELECT name, head FROM feed ORDER BY name")),
        chats={conversation.id for conversation in conversations if conversation.kind != "customer"},
    )


def _entry(row: tuple[Any, ...]) -> LedgerEntry:
    where, position, id_at, sender, name, body, deleted_at, status, read_at, kept_in, kept_at, emptied = row
    message = msgspec.json.decode(body or "{}")
    return LedgerEntry(
        str(where),
        position,
        entry_ids.made(EntryId(conversation_id=where, position=position, id_at=id_at)),
        sender,
        name,
        (message.get("text") or {}).get("body") if isinstance(message.get("text"), dict) else message.get("text"),
        deleted_at is not None,
        None if status is None else chat_status(Status(status), read_at is not None),
        (kept_in, kept_at),
        body,
        bool(emptied),
    )


def _conversation(row: tuple[Any, ...]) -> LedgerConversation:
    id_, org, kind, assignee, state, labels = row
    return LedgerConversation(str(id_), org, kind, (assignee, state, tuple(msgspec.json.decode(labels))))


_ENTRIES = """SELECT e.conversation_id, e.position, e.id_at, e.sender, e.client_message_id,
    CASE WHEN e.body <> '' THEN e.body ELSE (
        SELECT s.body FROM said_for_ever s
        WHERE s.conversation_id = coalesce(e.kept_in, e.conversation_id) AND s.id_at = coalesce(e.kept_at, e.id_at)
    ) END, e.deleted_at, d.status, d.read_at, coalesce(e.kept_in, e.conversation_id), coalesce(e.kept_at, e.id_at),
    e.body = ''
FROM entry e LEFT JOIN delivery d ON d.message_id = e.message_id ORDER BY e.conversation_id, e.position"""
_CONVERSATIONS = "SELECT id, org_id, kind, assignee, state, labels FROM conversation ORDER BY id"
_MEMBERS = "SELECT conversation_id, user_id, sees_after FROM member ORDER BY conversation_id, user_id"
_READS = "SELECT user_id, conversation_id, position FROM read_marker ORDER BY user_id, conversation_id"

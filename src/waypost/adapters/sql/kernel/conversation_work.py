"""Conversations in one transaction: the locked rows, the new entries, and the feed items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
from msgspec.structs import astuple, replace

from waypost.adapters.sql.engine.plan import Row
from waypost.model.chat import Chat, FeedName, Member
from waypost.model.conversation import (
    CONTACT,
    Conversation,
    ConversationId,
    EndedTurn,
    Entry,
    InboundMessage,
    MediaReference,
    Position,
    TurnState,
)
from waypost.model.ids import MessageId, OrgId, UserId, Wamid
from waypost.model.time import Instant
from waypost.rules.conversations import turn_state as rule
from waypost.rules.receiving.inbound import CORRECTIONS


def team_of(org: OrgId) -> FeedName:
    """The feed that carries all customer conversations of an org."""
    return FeedName(f"team:{org}")


def feed_of(user: str) -> FeedName:
    return FeedName(f"user:{user}")


@dataclass(frozen=True, slots=True)
class StoredPost:
    """A post that was stored before."""

    conversation_id: ConversationId
    position: Position
    id_at: Instant
    digest: bytes


class OpenedConversation(NamedTuple):
    """A conversation that this transaction opens, and the addresses that earlier messages may have been sent to."""

    id: ConversationId
    org_id: OrgId
    number: str
    addresses: tuple[str, ...]


class NewEntry(NamedTuple):
    """The content of an entry before it has a position."""

    sender: str
    type: str
    body: str
    at: Instant
    wamid: Wamid | None = None
    message_id: MessageId | None = None
    """The outbox message, if the entry is sent to a customer."""
    client_message_id: str | None = None


@dataclass(slots=True)
class ConversationWork:
    """The conversations part of a transaction; a conversation that is not in `by_id` is not locked."""

    by_id: dict[ConversationId, Conversation] = field(default_factory=dict)
    turn_states: dict[ConversationId, TurnState] = field(default_factory=dict)
    where: dict[tuple[str, str], ConversationId] = field(default_factory=dict)
    """(number, wamid) of an inbound message -> its conversation."""
    dossiers: dict[ConversationId, int | None] = field(default_factory=dict)
    """The dossier of the conversation's contact."""
    subjects: dict[ConversationId, list[str]] = field(default_factory=dict)
    """The consent subjects of a contact who wrote STOP or START."""
    begun: list[OpenedConversation] = field(default_factory=list)
    consent_times: dict[tuple[str, str], Instant] = field(default_factory=dict)
    """Inbound STOP or START that takes effect -> from when."""
    joined: set[int] = field(default_factory=set)
    """Contacts that this transaction merged others into."""
    known: set[tuple[str, str]] = field(default_factory=set)
    """Inbound messages that are already stored."""
    held: set[ConversationId] = field(default_factory=set)
    """Conversations whose turn is committed by the claim that holds it: its drafts are stored."""
    unsent: dict[ConversationId, set[MessageId]] = field(default_factory=dict)
    """The bot's unsent replies in conversations that a user takes over."""

    chats: dict[ConversationId, Chat] = field(default_factory=dict)
    """Internal chats."""
    opened: dict[tuple[OrgId, str], ConversationId] = field(default_factory=dict)
    """(org, pair of users) -> their chat, new or existing."""
    new: set[ConversationId] = field(default_factory=set)
    """Chats that this transaction opens."""
    members: dict[ConversationId, dict[UserId, Member]] = field(default_factory=dict)
    """The members of a chat: all of them, or in a large group those that the batch needs."""
    heads: dict[ConversationId, int] = field(default_factory=dict)
    """The feed heads of groups with a feed of their own; the group's lock also guards its head."""
    posted: dict[tuple[str, str], StoredPost] = field(default_factory=dict)
    """(sender, client message id) -> the stored post."""
    read: dict[tuple[str, ConversationId], Position] = field(default_factory=dict)
    shown_in: dict[tuple[OrgId, str], ConversationId] = field(default_factory=dict)
    """(org, idempotency key) -> the conversation that shows a message sent through the API."""
    unseen: dict[MessageId, str] = field(default_factory=dict)
    """API messages that no entry shows yet, and their authors."""
    found: dict[tuple[ConversationId, Position], Entry] = field(default_factory=dict)
    """Entries that an intent of the batch changes."""

    entries: list[Entry] = field(default_factory=list)
    posts: list[Row] = field(default_factory=list)
    joining: list[Member] = field(default_factory=list)
    leaving: list[tuple[ConversationId, UserId]] = field(default_factory=list)
    marks: dict[tuple[str, ConversationId], tuple[Position, Instant]] = field(default_factory=dict)
    erased: list[Row] = field(default_factory=list)
    worked: set[ConversationId] = field(default_factory=set)
    """Conversations whose assignee, state or labels changed."""
    inbound_rows: list[Row] = field(default_factory=list)
    media: list[Row] = field(default_factory=list)
    shown: list[Row] = field(default_factory=list)
    """Messages that were sent before the conversation existed, and the conversation that shows them now."""
    turns: list[EndedTurn] = field(default_factory=list)
    reopened: list[Row] = field(default_factory=list)
    """Given-up turns that are replayed."""
    items: dict[FeedName, list[tuple[Instant, str, ConversationId, Position | None, str]]] = field(default_factory=dict)
    moved: set[ConversationId] = field(default_factory=set)
    turned: set[ConversationId] = field(default_factory=set)

    def arrive(self, inbound: InboundMessage, now: Instant) -> ConversationId | None:
        """Add an inbound message as an entry, once; returns its conversation if the message is new."""
        key = (inbound.number, inbound.wamid)
        if key in self.known:
            return None
        self.known.add(key)
        where = self.where[key]
        position = self.add_entry(
            where, NewEntry(CONTACT, inbound.type, inbound.body, inbound.at, wamid=inbound.wamid), now
        )
        self.inbound_rows.append((inbound.number, inbound.wamid, where, position, now))
        if inbound.media is not None:
            self.attach(inbound.media, where, position, now)
        if inbound.reply_to != self.by_id[where].address:
            self.move(replace(self.by_id[where], address=inbound.reply_to))
        if self.by_id[where].state != "open":
            self.work(replace(self.by_id[where], state="open"), now)
        if inbound.asks:
            self.turn(rule.arrive(self.turn_states[where], position, now, inbound.times))
        elif inbound.type in CORRECTIONS:
            self.turn(rule.note_edit(self.turn_states[where], position))
        return where

    def attach(self, file: MediaReference, where: ConversationId, position: Position, now: Instant) -> None:
        """Store a file's reference with its entry; the media fetcher downloads it later."""
        conversation = self.by_id[where]
        self.media.append((conversation.org_id, conversation.number, where, position, *astuple(file), now))

    def add_entry(self, where: ConversationId, new: NewEntry, now: Instant) -> Position:
        """Append an entry to a conversation or chat; its id is later than every earlier one's."""
        conversation = self.by_id.get(where) or self.chats[where]
        position = Position(conversation.position + 1)
        id_at = Instant(max(now, conversation.last_id_at + 1))
        self.move(replace(conversation, position=position, last_id_at=id_at))
        self.entries.append(
            Entry(
                conversation_id=where,
                position=position,
                id_at=id_at,
                at=new.at,
                sender=new.sender,
                type=new.type,
                body=new.body,
                wamid=new.wamid,
                message_id=new.message_id,
                client_message_id=new.client_message_id,
            )
        )
        self.add_feed_items(where, "message", now, position)
        return position

    def add_feed_items(
        self, where: ConversationId, kind: str, now: Instant, position: Position | None = None, body: str = "{}"
    ) -> None:
        """Add an item to the team's feed, or to the feeds of the chat's members."""
        for feed in self.feeds_of(where):
            self.add_item_to_feed(feed, where, kind, now, position, body)

    def add_item_to_feed(
        self,
        feed: FeedName,
        where: ConversationId,
        kind: str,
        now: Instant,
        position: Position | None = None,
        body: str = "{}",
    ) -> None:
        self.items.setdefault(feed, []).append((now, kind, where, position, body))

    def feeds_of(self, where: ConversationId) -> list[FeedName]:
        if where in self.by_id:
            return [team_of(self.by_id[where].org_id)]
        chat = self.chats[where]
        return [chat.feed] if chat.own_feed else [feed_of(user) for user in sorted(self.members[where])]

    def head_of(self, chat: Chat) -> int:
        """The head of a group's own feed, including the items that this transaction adds."""
        return self.heads.get(chat.id, 0) + len(self.items.get(chat.feed, ()))

    def move(self, after: Conversation | Chat) -> None:
        if isinstance(after, Conversation):
            self.by_id[after.id] = after
        else:
            self.chats[after.id] = after
        self.moved.add(after.id)

    def work(self, after: Conversation, now: Instant) -> None:
        """Store the conversation's assignee, state and labels, and add a feed item."""
        self.by_id[after.id] = after
        self.worked.add(after.id)
        shown = {"assignee": after.assignee, "state": after.state, "labels": list(after.labels)}
        self.add_feed_items(after.id, "assigned", now, body=msgspec.json.encode(shown).decode())

    def turn(self, after: TurnState) -> TurnState:
        before = self.turn_states[after.conversation_id]
        if after != before:
            self.turn_states[after.conversation_id] = after
            self.turned.add(after.conversation_id)
        return before

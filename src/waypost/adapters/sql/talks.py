"""Conversations in one transaction: what of them is locked, what is said in them, and what every screen is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
from msgspec.structs import astuple, replace

from waypost.adapters.sql.plan import Row
from waypost.model.chat import Chat, FeedName, Member
from waypost.model.conversation import (
    CONTACT,
    Arrival,
    Conversation,
    ConversationId,
    EndedTurn,
    Entry,
    Lane,
    MediaNote,
    Position,
)
from waypost.model.ids import MessageId, OrgId, UserId, Wamid
from waypost.model.time import Instant
from waypost.rules import lane as rule
from waypost.rules.inbound import CORRECTIONS


def team_of(org: OrgId) -> FeedName:
    """The feed of everyone who sees an org's customers."""
    return FeedName(f"team:{org}")


def feed_of(user: str) -> FeedName:
    return FeedName(f"user:{user}")


@dataclass(frozen=True, slots=True)
class Known:
    """A post that was stored before."""

    conversation_id: ConversationId
    position: Position
    id_at: Instant
    digest: bytes


class Begun(NamedTuple):
    """A conversation that this transaction opens, and everything that its customer may have been written to under."""

    id: ConversationId
    org_id: OrgId
    number: str
    addresses: tuple[str, ...]


class Saying(NamedTuple):
    """What becomes an entry."""

    sender: str
    type: str
    body: str
    at: Instant
    wamid: Wamid | None = None
    message_id: MessageId | None = None
    """In the outbox, if it goes out."""
    client_message_id: str | None = None


@dataclass(slots=True)
class Talks:
    """Part of a transaction's work; conversations that are not in it are not locked."""

    conversations: dict[ConversationId, Conversation] = field(default_factory=dict)
    lanes: dict[ConversationId, Lane] = field(default_factory=dict)
    where: dict[tuple[str, str], ConversationId] = field(default_factory=dict)
    """(number, wamid) of an arrival -> the conversation it belongs to."""
    dossiers: dict[ConversationId, int | None] = field(default_factory=dict)
    """Of who writes there."""
    subjects: dict[ConversationId, list[str]] = field(default_factory=dict)
    """Under which those who say STOP or START there are asked for consent."""
    begun: list[Begun] = field(default_factory=list)
    heard: dict[tuple[str, str], Instant] = field(default_factory=dict)
    """Arrivals that say STOP or START and count -> from when."""
    joined: set[int] = field(default_factory=set)
    """Contacts that this transaction joined others to."""
    known: set[tuple[str, str]] = field(default_factory=set)
    """Arrivals that were stored before."""
    held: set[ConversationId] = field(default_factory=set)
    """Where a turn is ended by the claim that holds it: its drafts are stored."""
    unsent: dict[ConversationId, set[MessageId]] = field(default_factory=dict)
    """What the bot said where it is to be silent, and nobody has sent yet."""

    chats: dict[ConversationId, Chat] = field(default_factory=dict)
    """Of people among themselves."""
    opened: dict[tuple[OrgId, str], ConversationId] = field(default_factory=dict)
    """(org, pair) -> the chat that is meant, new or not."""
    new: set[ConversationId] = field(default_factory=set)
    """Chats that this transaction opens."""
    members: dict[ConversationId, dict[UserId, Member]] = field(default_factory=dict)
    """Of a chat: everyone, or of a large group those who matter here."""
    heads: dict[ConversationId, int] = field(default_factory=dict)
    """Of groups with feeds of their own: who writes there holds the group, so nobody else moves it."""
    posted: dict[tuple[str, str], Known] = field(default_factory=dict)
    """(sender, their id for it) -> what was stored under it."""
    read: dict[tuple[str, ConversationId], Position] = field(default_factory=dict)
    noticed: dict[tuple[OrgId, str], ConversationId] = field(default_factory=dict)
    """(org, idempotency key) -> the conversation that a message of the org's own is shown in."""
    unseen: dict[MessageId, str] = field(default_factory=dict)
    """Messages of the org's own that no entry shows yet, and who wrote them."""
    found: dict[tuple[ConversationId, Position], Entry] = field(default_factory=dict)
    """Entries that somebody wants to change."""

    entries: list[Entry] = field(default_factory=list)
    posts: list[Row] = field(default_factory=list)
    joining: list[Member] = field(default_factory=list)
    leaving: list[tuple[ConversationId, UserId]] = field(default_factory=list)
    marks: dict[tuple[str, ConversationId], tuple[Position, Instant]] = field(default_factory=dict)
    erased: list[Row] = field(default_factory=list)
    worked: set[ConversationId] = field(default_factory=set)
    """Where the team changed something."""
    arrivals: list[Row] = field(default_factory=list)
    media: list[Row] = field(default_factory=list)
    shown: list[Row] = field(default_factory=list)
    """Messages that were sent before there was a conversation to show them in, and where they are shown now."""
    turns: list[EndedTurn] = field(default_factory=list)
    reopened: list[Row] = field(default_factory=list)
    """Given-up turns that are answered after all."""
    items: dict[FeedName, list[tuple[Instant, str, ConversationId, Position | None, str]]] = field(default_factory=dict)
    moved: set[ConversationId] = field(default_factory=set)
    turned: set[ConversationId] = field(default_factory=set)

    def arrive(self, told: Arrival, now: Instant) -> ConversationId | None:
        """A customer's message becomes an entry, once; returns its conversation when it is new."""
        key = (told.number, told.wamid)
        if key in self.known:
            return None
        self.known.add(key)
        where = self.where[key]
        position = self.say(where, Saying(CONTACT, told.type, told.body, told.at, wamid=told.wamid), now)
        self.arrivals.append((told.number, told.wamid, where, position, now))
        if told.media is not None:
            self.attach(told.media, where, position, now)
        if told.reply_to != self.conversations[where].address:
            self.move(replace(self.conversations[where], address=told.reply_to))
        if self.conversations[where].state != "open":
            self.work(replace(self.conversations[where], state="open"), now)
        if told.asks:
            self.turn(rule.arrive(self.lanes[where], position, now, told.times))
        elif told.type in CORRECTIONS:
            self.turn(rule.overhear(self.lanes[where], position))
        return where

    def attach(self, file: MediaNote, where: ConversationId, position: Position, now: Instant) -> None:
        """A file belongs to what was said there, and is to be fetched."""
        talk = self.conversations[where]
        self.media.append((talk.org_id, talk.number, where, position, *astuple(file), now))

    def say(self, where: ConversationId, said: Saying, now: Instant) -> Position:
        """One more entry at the end of a conversation; its id is later than every earlier one's."""
        talk = self.conversations.get(where) or self.chats[where]
        position = Position(talk.position + 1)
        id_at = Instant(max(now, talk.last_id_at + 1))
        self.move(replace(talk, position=position, last_id_at=id_at))
        self.entries.append(
            Entry(
                conversation_id=where,
                position=position,
                id_at=id_at,
                at=said.at,
                sender=said.sender,
                type=said.type,
                body=said.body,
                wamid=said.wamid,
                message_id=said.message_id,
                client_message_id=said.client_message_id,
            )
        )
        self.tell(where, "message", now, position)
        return position

    def tell(
        self, where: ConversationId, kind: str, now: Instant, position: Position | None = None, body: str = "{}"
    ) -> None:
        """Whoever watches the org's customers, or takes part in the chat, sees this change."""
        for feed in self.feeds_of(where):
            self.tell_one(feed, where, kind, now, position, body)

    def tell_one(
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
        if where in self.conversations:
            return [team_of(self.conversations[where].org_id)]
        chat = self.chats[where]
        return [chat.feed] if chat.own_feed else [feed_of(user) for user in sorted(self.members[where])]

    def head_of(self, chat: Chat) -> int:
        """Of a group's own feed, with what this transaction adds to it."""
        return self.heads.get(chat.id, 0) + len(self.items.get(chat.feed, ()))

    def move(self, after: Conversation | Chat) -> None:
        if isinstance(after, Conversation):
            self.conversations[after.id] = after
        else:
            self.chats[after.id] = after
        self.moved.add(after.id)

    def work(self, after: Conversation, now: Instant) -> None:
        """The team's part of a customer's conversation, and what screens show of it."""
        self.conversations[after.id] = after
        self.worked.add(after.id)
        shown = {"assignee": after.assignee, "state": after.state, "labels": list(after.labels)}
        self.tell(after.id, "assigned", now, body=msgspec.json.encode(shown).decode())

    def turn(self, after: Lane) -> Lane:
        before = self.lanes[after.conversation_id]
        if after != before:
            self.lanes[after.conversation_id] = after
            self.turned.add(after.conversation_id)
        return before

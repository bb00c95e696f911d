"""Conversations in one transaction: what of them is locked, what is said in them, and what every screen is told."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import astuple, replace

from waypost.adapters.sql.plan import Row
from waypost.model.conversation import (
    CONTACT,
    Arrival,
    Conversation,
    ConversationId,
    EndedTurn,
    Entry,
    Lane,
    Position,
)
from waypost.model.ids import MessageId, OrgId
from waypost.model.time import Instant
from waypost.rules import lane as rule
from waypost.rules.inbound import CORRECTIONS


def team_of(org: OrgId) -> str:
    """The feed of everyone who sees an org's customers."""
    return f"team:{org}"


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
    joined: set[int] = field(default_factory=set)
    """Contacts that this transaction joined others to."""
    known: set[tuple[str, str]] = field(default_factory=set)
    """Arrivals that were stored before."""
    held: set[ConversationId] = field(default_factory=set)
    """Where a turn is ended by the claim that holds it: its drafts are stored."""
    unsent: dict[ConversationId, set[MessageId]] = field(default_factory=dict)
    """What the bot said where it is to be silent, and nobody has sent yet."""

    entries: list[Entry] = field(default_factory=list)
    arrivals: list[Row] = field(default_factory=list)
    media: list[Row] = field(default_factory=list)
    turns: list[EndedTurn] = field(default_factory=list)
    reopened: list[Row] = field(default_factory=list)
    """Given-up turns that are answered after all."""
    items: dict[str, list[tuple[Instant, str, ConversationId, Position | None, str]]] = field(default_factory=dict)
    moved: set[ConversationId] = field(default_factory=set)
    turned: set[ConversationId] = field(default_factory=set)

    def arrive(self, told: Arrival, now: Instant) -> ConversationId | None:
        """A customer's message becomes an entry, once; returns its conversation when it is new."""
        key = (told.number, told.wamid)
        if key in self.known:
            return None
        self.known.add(key)
        where = self.where[key]
        position = self.say(where, CONTACT, told.type, told.body, told.at, now, wamid=told.wamid)
        self.arrivals.append((told.number, told.wamid, where, position, now))
        if told.media is not None:
            self.media.append((told.org_id, told.number, where, position, *astuple(told.media), now))
        if told.reply_to != self.conversations[where].address:
            self.move(replace(self.conversations[where], address=told.reply_to))
        if told.asks:
            self.turn(rule.arrive(self.lanes[where], position, now, told.times))
        elif told.type in CORRECTIONS:
            self.turn(rule.overhear(self.lanes[where], position))
        return where

    def say(
        self,
        where: ConversationId,
        sender: str,
        kind: str,
        body: str,
        at: Instant,
        now: Instant,
        *,
        wamid: str | None = None,
        message_id: MessageId | None = None,
    ) -> Position:
        """One more entry at the end of a conversation; its id is later than every earlier one's."""
        talk = self.conversations[where]
        position = Position(talk.position + 1)
        id_at = Instant(max(now, talk.last_id_at + 1))
        self.move(replace(talk, position=position, last_id_at=id_at))
        self.entries.append(
            Entry(
                conversation_id=where,
                position=position,
                id_at=id_at,
                at=at,
                sender=sender,
                type=kind,
                body=body,
                wamid=wamid,  # type: ignore[arg-type]  # a Wamid, or none
                message_id=message_id,
            )
        )
        self.tell(where, "message", now, position)
        return position

    def tell(
        self, where: ConversationId, kind: str, now: Instant, position: Position | None = None, body: str = "{}"
    ) -> None:
        """Whoever watches the org's conversations sees this change."""
        feed = team_of(self.conversations[where].org_id)
        self.items.setdefault(feed, []).append((now, kind, where, position, body))

    def move(self, after: Conversation) -> None:
        self.conversations[after.id] = after
        self.moved.add(after.id)

    def turn(self, after: Lane) -> Lane:
        before = self.lanes[after.conversation_id]
        if after != before:
            self.lanes[after.conversation_id] = after
            self.turned.add(after.conversation_id)
        return before

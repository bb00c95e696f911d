"""Somebody who is not connected is told that a message waits: whom, of what, and what became of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec

from waypost.model.chat import DeviceId, FeedName
from waypost.model.conversation import ConversationId, Entry, Position
from waypost.model.ids import Fence, OrgId, UserId
from waypost.model.time import Instant, Span, days, minutes, seconds


class Habits(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator may set."""

    grace: Span = seconds(10)
    """So long after the first message, or after its reader left, nobody is told: most are back, or see it elsewhere."""
    settled: Span = seconds(60)
    """Who is still connected so long after a message was really there: a dead connection is found out sooner."""
    again: Span = minutes(10)
    """So long after a notice there is no second one of the same conversation, unless the person was back."""
    keep: Span = days(2)
    """How long a notice waits for a device that is off, and how long we try to hand it over."""
    lease: Span = minutes(2)
    """Longer than a look takes when no push service answers: 8 conversations, 40 devices each, 32 at once, 10 s."""
    preview: bool = True
    """Whether a notice says how the message begins."""
    bot_answers: bool = True
    """Whether there is a bot: else what waits for it waits for people."""


class Subscription(msgspec.Struct, frozen=True):
    """Where a browser takes notices, and the keys that only it can read them with; as its push manager gave them."""

    endpoint: str
    p256dh: str
    auth: str


class Urgency(StrEnum):
    """How much of a sleeping device's battery a notice is worth (RFC 8030)."""

    VERY_LOW = "very-low"
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class Notice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a device is told: as JSON it is what the web app's service worker reads."""

    title: str
    conversation_id: str
    count: int
    """Messages that wait in this conversation."""
    text: str | None = None
    """How the latest begins; absent where the deployment shows none."""


class Delivered(msgspec.Struct, frozen=True, tag=True):
    """The push service has it; whether the device is ever switched on again is not known."""


class Gone(msgspec.Struct, frozen=True, tag=True):
    """This subscription takes nothing any more, now or later."""


class Later(msgspec.Struct, frozen=True, tag=True):
    """Not this time; the same notice may be taken after a wait."""

    reason: str
    wait: Span | None = None
    """As the push service told it."""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """This notice is not taken, and asking again changes nothing; another one may be."""

    reason: str


Result: TypeAlias = Delivered | Gone | Later | Refused


class Happening(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An item of a feed, as far as somebody who is away might have to be told of it."""

    feed: FeedName
    seq: int
    at: Instant
    kind: str
    conversation_id: ConversationId
    position: Position | None
    sender: str | None
    """Of the message that the item brings; None where it brings none, or that one is gone."""
    type: str | None
    floor: str | None
    """Who answers the customer at this moment; None in a chat of people."""
    asked: Position | None
    """The customer's last message that wants an answer."""


class Listener(msgspec.Struct, frozen=True, kw_only=True):
    """A device with a subscription, of somebody who takes part in a conversation."""

    device_id: DeviceId
    user_id: UserId
    subscription: Subscription
    connected: bool = False
    """The person is, by any device; not the Ledger's to know."""
    seen_at: Instant | None
    """When the person was last known to come, by any device."""
    shown: Position
    """Up to here a device of the person's has the conversation, or the person has read it."""
    unread: int
    told: Position = Position(0)
    """Up to here this device was told of the conversation."""
    told_at: Instant | None = None
    not_before: Instant | None = None
    """The push service asked us to leave this device alone until then."""
    failures: int = 0
    """Tries in a row that came to nothing."""


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation with something new in it for who follows a feed, claimed by whoever looks whom to tell."""

    feed: FeedName
    org_id: OrgId
    conversation_id: ConversationId
    kind: Literal["customer", "direct", "group"]
    title: str
    """The group's name, else the writer's."""
    latest: Position
    """The latest message that people are to be told of."""
    sender: str
    """Of that message: a user's id, or `contact…`."""
    words: str
    """What it says; empty where it says nothing in words."""
    away: Entry | None = None
    """The message, if only the Log has what it says."""
    at: Instant
    """When it was written."""
    floor: str
    assignee: UserId | None
    listeners: tuple[Listener, ...]
    fence: Fence
    """Of this claim."""


class Told(msgspec.Struct, frozen=True, tag=True):
    """The device knows of everything up to here."""

    upto: Position
    at: Instant


class PutOff(msgspec.Struct, frozen=True, tag=True):
    """The device is left alone until then."""

    until: Instant
    reason: str


class Dropped(msgspec.Struct, frozen=True, tag=True):
    """Nobody tells the device of this any more; of the next message, yes."""

    upto: Position
    reason: str


class Dead(msgspec.Struct, frozen=True, tag=True):
    """The device's subscription is to be removed."""


Verdict: TypeAlias = Told | PutOff | Dropped | Dead

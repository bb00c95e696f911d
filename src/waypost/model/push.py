"""Somebody who is not connected is told that a message waits: whom, of what, and what became of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NewType, TypeAlias

import msgspec

from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import Fence, OrgId, UserId
from waypost.model.time import Instant, Span

DeviceId = NewType("DeviceId", str)
"""Chosen by the device itself: one user's devices have different ones, two users' may have the same."""


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


class Listener(msgspec.Struct, frozen=True, kw_only=True):
    """A device with a subscription, of somebody who takes part in a conversation."""

    device_id: DeviceId
    user_id: UserId
    subscription: Subscription
    connected: bool
    """The person is, by any device."""
    seen_at: Instant | None
    """When the person was last connected, by any device; None if not as far as is known."""
    shown: Position
    """Up to here a device of the person's has the conversation, or the person has read it."""
    unread: int
    muted: bool
    told: Position = Position(0)
    """Up to here this device was told of the conversation."""
    told_at: Instant | None = None
    not_before: Instant | None = None
    """The push service asked us to leave this device alone until then."""
    failures: int = 0
    """Tries in a row that came to nothing."""


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation with something new in it, claimed by whoever looks whom to tell."""

    org_id: OrgId
    conversation_id: ConversationId
    kind: Literal["customer", "direct", "group"]
    title: str
    """The group's name, else the writer's."""
    latest: Position
    sender: str
    """Of the latest message: a user's id, `bot` or `contact…`."""
    words: str
    """What the latest message says; empty where it says nothing in words."""
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

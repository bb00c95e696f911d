"""Push notifications for users who are offline: recipients, content and results."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec

from waypost.model.chat import DeviceId, FeedName
from waypost.model.conversation import ConversationId, Entry, Position
from waypost.model.ids import Fence, OrgId, UserId
from waypost.model.time import Instant, Span, days, minutes, seconds


class NotificationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Operator settings."""

    grace: Span = seconds(10)
    """Delay after the first message, or after the user disconnected, before a notification is sent."""
    settled: Span = seconds(60)
    """A user still connected this long after a message is really online: a dead connection is detected sooner."""
    again: Span = minutes(10)
    """Minimum time between two notifications of one conversation, unless the user was online in between."""
    keep: Span = days(2)
    """How long a push service keeps a notification for a device that is off, and how long we retry."""
    lease: Span = minutes(2)
    """Longer than one run takes when no push service answers: 8 conversations, 40 devices each, 32 at once, 10 s."""
    preview: bool = True
    """Whether a notification contains the start of the message."""
    bot_answers: bool = True
    """Whether a bot is configured; without one, messages on its floor wait for agents."""


class Subscription(msgspec.Struct, frozen=True):
    """A browser's push endpoint and the keys to encrypt for it, as its push manager returned them."""

    endpoint: str
    p256dh: str
    auth: str


class Urgency(StrEnum):
    """Urgency of a notification, for devices that save battery (RFC 8030)."""

    VERY_LOW = "very-low"
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class Notification(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The notification that the web app's service worker reads as JSON."""

    title: str
    conversation_id: str
    count: int
    """Unread messages in this conversation."""
    text: str | None = None
    """The start of the latest message; absent if previews are off."""


class PushDelivered(msgspec.Struct, frozen=True, tag=True):
    """The push service accepted it; the device may still be off."""


class PushGone(msgspec.Struct, frozen=True, tag=True):
    """The subscription no longer exists."""


class PushRetry(msgspec.Struct, frozen=True, tag=True):
    """Not accepted now; the same notification may be accepted later."""

    reason: str
    wait: Span | None = None
    """As the push service asked."""


class PushRefused(msgspec.Struct, frozen=True, tag=True):
    """This notification is refused, and a retry will not help; another one may be accepted."""

    reason: str


PushResult: TypeAlias = PushDelivered | PushGone | PushRetry | PushRefused


class NotifiableItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A feed item that may need a notification."""

    feed: FeedName
    seq: int
    at: Instant
    kind: str
    conversation_id: ConversationId
    position: Position | None
    sender: str | None
    """Of the item's message; None if it has none, or the message was deleted."""
    type: str | None
    floor: str | None
    """Who has the floor now; None in an internal chat."""
    asked: Position | None
    """The customer's latest message that needs an answer."""


class SubscribedDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A subscribed device of a participant in a conversation."""

    device_id: DeviceId
    user_id: UserId
    subscription: Subscription
    connected: bool = False
    """Whether the user is connected by any device; set by the caller, not by the Ledger."""
    seen_at: Instant | None
    """When the user last connected, by any device."""
    shown: Position
    """Up to here one of the user's devices has received the conversation, or the user has read it."""
    unread: int
    notified: Position = Position(0)
    """The latest position that this device was notified of."""
    notified_at: Instant | None = None
    not_before: Instant | None = None
    """The push service asked us to send nothing to this device until then."""
    failures: int = 0
    """Failed attempts in a row."""


class NotificationTask(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation with news for the followers of a feed, claimed by a worker that notifies them."""

    feed: FeedName
    org_id: OrgId
    conversation_id: ConversationId
    kind: Literal["customer", "direct", "group"]
    title: str
    """The group's name, else the author's."""
    latest: Position
    """The latest message to notify about."""
    sender: str
    """Of that message: a user's id, or `contact…`."""
    words: str
    """Its text; empty if it has none."""
    away: Entry | None = None
    """The message, if its body is only in history."""
    at: Instant
    """When it was written."""
    floor: str
    assignee: UserId | None
    listeners: tuple[SubscribedDevice, ...]
    fence: Fence
    """Of this claim."""


class Notified(msgspec.Struct, frozen=True, tag=True):
    """The device was notified up to this position."""

    upto: Position
    at: Instant


class NotifyLater(msgspec.Struct, frozen=True, tag=True):
    """The device gets no notification until then."""

    until: Instant
    reason: str


class NotifyDropped(msgspec.Struct, frozen=True, tag=True):
    """The device gets no notification of this message; later messages are not affected."""

    upto: Position
    reason: str


class SubscriptionDead(msgspec.Struct, frozen=True, tag=True):
    """The device's subscription must be removed."""


NotifyVerdict: TypeAlias = Notified | NotifyLater | NotifyDropped | SubscriptionDead

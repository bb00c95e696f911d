"""Chats between users, their members, posts, devices and feeds."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NewType, TypeAlias

import msgspec

from waypost.model.conversation import (
    ContactId,
    Conversation,
    ConversationId,
    Entry,
    FeedItem,
    MediaReference,
    Position,
)
from waypost.model.ids import NumberId, OrgId, UserId, Wamid
from waypost.model.media import FileSummary
from waypost.model.message import Draft, Status
from waypost.model.time import Instant

DeviceId = NewType("DeviceId", str)
FeedName = NewType("FeedName", str)
"""`user:…`, `team:…` or `group:…`."""

NOTE = "note"
"""The type of an internal note in a customer's conversation."""
LARGEST_IN_FEEDS = 32
"""Up to this many members, a group's items go to each member's own feed; a larger group has its own feed."""
MOST_MEMBERS = 1024


class ChatKind(StrEnum):
    DIRECT = "direct"
    GROUP = "group"


HistoryVisibility: TypeAlias = Literal["all", "joined"]
"""What a new member of a group may read: everything, or only messages since they joined."""


class Chat(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An internal conversation between users."""

    id: ConversationId
    org_id: OrgId
    kind: ChatKind
    title: str | None
    pair: str
    """Unique key: the two users of a direct chat, or the token that a group was created with."""
    own_feed: bool
    history: HistoryVisibility
    position: Position
    last_id_at: Instant
    created_at: Instant

    @property
    def feed(self) -> FeedName:
        return FeedName(f"group:{self.id}")


class Member(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    conversation_id: ConversationId
    user_id: UserId
    sees_after: Position
    """The member sees messages after this position."""
    feed_from: int
    """Where the group's own feed, if it has one, begins for this member."""
    joined_at: Instant


class NewChat(msgspec.Struct, frozen=True, kw_only=True):
    org_id: OrgId
    kind: ChatKind
    pair: str
    title: str | None
    history: HistoryVisibility
    members: tuple[UserId, ...]
    """The user who opens it comes first."""


class NewPost(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message that a user posts in a conversation."""

    org_id: OrgId
    conversation_id: ConversationId
    sender: str
    """A user's id, or the id of the key that wrote in the org's name."""
    client_message_id: str
    type: str
    body: str
    digest: bytes
    """Of the conversation and content: the same client id with another digest is a conflict."""
    with_customer: bool
    draft: Draft | None = None
    """The outbound message to the customer, if there is one."""
    file: MediaReference | None = None
    """A file stored at the provider, to be fetched so that the team can see it."""


class MemberChange(msgspec.Struct, frozen=True, kw_only=True):
    add: tuple[UserId, ...] = ()
    remove: tuple[UserId, ...] = ()


class WorkChange(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to a customer's conversation; UNSET leaves a field unchanged."""

    assignee: UserId | msgspec.UnsetType | None = msgspec.UNSET
    state: Literal["open", "closed"] | msgspec.UnsetType = msgspec.UNSET
    labels: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class DeliveryFailure(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Why a message was not delivered, worded for its author."""

    code: str
    title: str
    remedy: str
    """What the author can do about it."""


class LoadedItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A feed item with the entry, message status and file that it refers to."""

    item: FeedItem
    entry: Entry | None
    contact_id: ContactId | None
    """The customer of the conversation, if it has one."""
    status: Status | None
    """Of the outbound message of the entry."""
    was_read: bool = False
    number: NumberId | None = None
    """The business number that the customer writes to."""
    provider_id: Wamid | None = None
    error_code: str | None = None
    error_message: str | None = None
    file: FileSummary | None = None
    """The file attached to a customer's message."""
    failure: DeliveryFailure | None = None
    """Readable form of `error_code`, added after the read."""


class ConversationListItem(msgspec.Struct, frozen=True, kw_only=True):
    """A customer's conversation as a user's list shows it."""

    conversation: Conversation
    floor: str
    read: Position
    unread: int
    """Customer messages after `read`; counted up to a limit."""
    last: Entry | None
    status: Status | None
    was_read: bool
    provider_id: Wamid | None = None
    error_code: str | None = None
    error_message: str | None = None
    window_until: Instant | None = None
    """When the latest 24-hour window ends or ended."""
    turn: Literal["waiting", "thinking"] | None = None
    """The bot's turn: it waits for the burst to end, or a worker runs it."""


class ChatListItem(msgspec.Struct, frozen=True, kw_only=True):
    """A chat as a member's list shows it."""

    chat: Chat
    read: Position
    unread: int
    """Messages of others after `read`; counted up to a limit."""
    sees_after: Position
    last: Entry | None


class FollowedFeed(msgspec.Struct, frozen=True, gc=False):
    """A feed that a user follows, and where it begins for them."""

    feed: FeedName
    since: int


class Device(msgspec.Struct, frozen=True, kw_only=True):
    user_id: UserId
    device_id: DeviceId
    org_id: OrgId
    epoch: str
    """If it differs from the one the device has stored, the device must discard its local state."""
    created_at: Instant
    seen_at: Instant
    """Increases with each hello, whatever the servers' clocks show; updated while the device is connected."""
    push: str | None
    """A Web Push subscription, as JSON."""
    cursors: dict[FeedName, int]

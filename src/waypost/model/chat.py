"""People who write to each other and to customers: chats, their members, posts, devices and what they are told."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NewType, TypeAlias

import msgspec

from waypost.model.conversation import ContactId, Conversation, ConversationId, Entry, FeedItem, MediaNote, Position
from waypost.model.ids import NumberId, OrgId, UserId, Wamid
from waypost.model.media import FileNote
from waypost.model.message import Draft, Status
from waypost.model.time import Instant

DeviceId = NewType("DeviceId", str)
FeedName = NewType("FeedName", str)
"""`user:…`, `team:…` or `group:…`."""

NOTE = "note"
"""The type of what the team writes for itself in a customer's conversation."""
LARGEST_IN_FEEDS = 32
"""Members of a group whose items go to each one's own feed; a larger one has a feed of its own."""
MOST_MEMBERS = 1024


class ChatKind(StrEnum):
    DIRECT = "direct"
    GROUP = "group"


History: TypeAlias = Literal["all", "joined"]
"""What those who join a group later may read: everything, or what came since."""


class Chat(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A conversation of people among themselves."""

    id: ConversationId
    org_id: OrgId
    kind: ChatKind
    title: str | None
    pair: str
    """What makes it the same one: who the two are, or the token under which a group was opened."""
    own_feed: bool
    history: History
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
    """They read what came after this."""
    feed_from: int
    """Where the group's own feed, if it has one, begins for them."""
    joined_at: Instant


class NewChat(msgspec.Struct, frozen=True, kw_only=True):
    org_id: OrgId
    kind: ChatKind
    pair: str
    title: str | None
    history: History
    members: tuple[UserId, ...]
    """The one who opens it comes first."""


class NewPost(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something that a person says in a conversation."""

    org_id: OrgId
    conversation_id: ConversationId
    sender: str
    """A user's id, or the key that wrote in the org's name."""
    client_message_id: str
    type: str
    body: str
    digest: bytes
    """Of where and what: the same id with another digest is a mistake."""
    with_customer: bool
    draft: Draft | None = None
    """What goes out to the customer with it."""
    file: MediaNote | None = None
    """That the provider has, and the team wants to see again."""


class MemberChange(msgspec.Struct, frozen=True, kw_only=True):
    add: tuple[UserId, ...] = ()
    remove: tuple[UserId, ...] = ()


class WorkChange(msgspec.Struct, frozen=True, kw_only=True):
    """What the team changes of a customer's conversation; UNSET leaves it."""

    assignee: UserId | msgspec.UnsetType | None = msgspec.UNSET
    state: Literal["open", "closed"] | msgspec.UnsetType = msgspec.UNSET
    labels: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class Failure(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Why a message did not get there, for whoever wrote it."""

    code: str
    title: str
    remedy: str
    """What they can do about it."""


class Told(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An item of a feed with what it is about."""

    item: FeedItem
    entry: Entry | None
    contact_id: ContactId | None
    """The customer of the conversation, if it has one."""
    status: Status | None
    """Of the message that went out with the entry."""
    was_read: bool = False
    number: NumberId | None = None
    """Of ours, that the customer writes to."""
    provider_id: Wamid | None = None
    error_code: str | None = None
    error_message: str | None = None
    file: FileNote | None = None
    """What came with a customer's message."""
    failure: Failure | None = None
    """In words; the Ledger knows the code only."""


class ShownTalk(msgspec.Struct, frozen=True, kw_only=True):
    """A customer's conversation as a list shows it to somebody."""

    conversation: Conversation
    floor: str
    read: Position
    unread: int
    """What the customer said since; counted up to a limit."""
    last: Entry | None
    status: Status | None
    was_read: bool
    provider_id: Wamid | None = None
    error_code: str | None = None
    error_message: str | None = None
    window_until: Instant | None = None
    """When the latest 24 hours after the customer's message end, or ended."""
    turn: Literal["waiting", "thinking"] | None = None
    """The bot's: it waits for the end of the burst, or somebody runs it."""


class ShownChat(msgspec.Struct, frozen=True, kw_only=True):
    """A chat as a list shows it to somebody who takes part."""

    chat: Chat
    read: Position
    unread: int
    """What others said since; counted up to a limit."""
    sees_after: Position
    last: Entry | None


class Following(msgspec.Struct, frozen=True, gc=False):
    """A feed of somebody's, and where it begins for them."""

    feed: FeedName
    since: int


class Device(msgspec.Struct, frozen=True, kw_only=True):
    user_id: UserId
    device_id: DeviceId
    org_id: OrgId
    epoch: str
    """Another one than the device remembers means that what it remembers is worth nothing."""
    created_at: Instant
    seen_at: Instant
    """Later with each hello, whatever the clocks of the servers say; moved on while it is connected."""
    push: str | None
    """A Web Push subscription, as JSON."""
    cursors: dict[FeedName, int]

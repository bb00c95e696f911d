"""Chats and their members, posts, read markers, assignment of conversations, and devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from waypost.model.chat import (
    Chat,
    ChatListItem,
    ConversationListItem,
    Device,
    DeviceId,
    FeedName,
    FollowedFeed,
    LoadedItem,
    Member,
    MemberChange,
    NewChat,
    NewPost,
    WorkChange,
)
from waypost.model.conversation import Conversation, ConversationId, Position
from waypost.model.ids import MessageId, OrgId, UserId
from waypost.model.time import Instant
from waypost.rules.conversations.entry_ids import EntryId


class Posted(msgspec.Struct, frozen=True, tag=True):
    conversation_id: ConversationId
    position: Position
    id_at: Instant
    duplicate: bool
    message_id: MessageId | None = None
    """Its message in the outbox, if this call created one."""


class PostConflict(msgspec.Struct, frozen=True, tag=True):
    """The sender used this client message id for different content."""


class ChatNotFound(msgspec.Struct, frozen=True, tag=True):
    """The conversation does not exist, or the caller has no access to it."""


class ConsentRefused(msgspec.Struct, frozen=True, tag=True):
    """The customer has not consented, so it is not sent."""

    reason: str


class GroupFull(msgspec.Struct, frozen=True, tag=True):
    """The group has reached its member limit."""


class NotTheAuthor(msgspec.Struct, frozen=True, tag=True):
    """Another user wrote the message."""


class ChatMessageNotFound(msgspec.Struct, frozen=True, tag=True):
    """There is no such message in the conversation."""


PostAnswer: TypeAlias = Posted | PostConflict | ChatNotFound | ConsentRefused


class ReadMarker(msgspec.Struct, frozen=True, tag=True):
    position: Position
    moved: bool


class CursorAck(NamedTuple):
    user_id: UserId
    device_id: DeviceId
    feed: FeedName
    seq: int


class DeviceSweep(NamedTuple):
    """The result of one maintenance pass over devices, in the order of their names."""

    gone: int
    last: tuple[UserId, DeviceId] | None
    """Where the next pass continues; None at the end."""


FIRST_DEVICE = UserId(""), DeviceId("")
"""Sorts before every device."""


class ActivityCursor(msgspec.Struct, frozen=True):
    """A position in a list sorted by latest activity."""

    active_at: Instant
    conversation_id: ConversationId


NEWEST = ActivityCursor(Instant(2**62), ConversationId(2**62))
"""The start of such a list."""


class Chats(Protocol):
    async def post(self, post: NewPost, now: Instant) -> PostAnswer:
        """Store a post once, as the next entry of its conversation, and add it to its feeds; a message to a customer
        enters the outbox in the same transaction. The same id with the same content is the same post."""

    async def open(self, new: NewChat, now: Instant) -> Chat:
        """The chat with this `pair`, created if it does not exist; its first members get a feed item."""

    async def change_members(
        self, org: OrgId, chat: ConversationId, change: MemberChange, by: UserId, now: Instant
    ) -> Sequence[Member] | ChatNotFound | GroupFull:
        """A removed member sees nothing afterwards; a group that grows too large gets its own feed, without a gap."""

    async def rename(
        self, org: OrgId, chat: ConversationId, title: str | None, by: UserId, now: Instant
    ) -> Chat | ChatNotFound:
        """Change the title; all members get a feed item."""

    async def work(
        self, org: OrgId, conversation: ConversationId, change: WorkChange, by: str, now: Instant
    ) -> Conversation | ChatNotFound:
        """Change assignee, state or labels of a customer's conversation; the whole team gets a feed item."""

    async def erase(
        self, org: OrgId, message: EntryId, by: str, now: Instant, *, anybodys: bool = False
    ) -> ChatNotFound | ChatMessageNotFound | NotTheAuthor | None:
        """Delete a message but keep its position. Only its author may, unless `anybodys` is set, which is audited. A
        second call changes nothing.

        Its outbound message is cancelled if it is still queued. A different message that has since moved to this
        position is not affected.
        """

    async def read_up_to(
        self, org: OrgId, user: UserId, message: EntryId, now: Instant
    ) -> ReadMarker | ChatNotFound | ChatMessageNotFound:
        """Move a user's read marker forward, never back."""

    async def get(self, org: OrgId, chat: ConversationId) -> Chat | None: ...

    async def members(self, chats: Sequence[ConversationId]) -> Sequence[Member]:
        """The members of these chats, each chat's in the order in which they joined."""

    async def member(self, chat: ConversationId, user: UserId) -> Member | None: ...

    async def reads(self, chat: ConversationId) -> Mapping[UserId, Position]:
        """The read position of each member."""

    async def shown_conversations(
        self, org: OrgId, user: UserId | None, conversations: Sequence[ConversationId], most_unread: int
    ) -> Sequence[ConversationListItem]:
        """The conversations of this org among them, in any order, with this user's read position."""

    async def shown_chats(
        self, user: UserId, chats: Sequence[ConversationId], most_unread: int
    ) -> Sequence[ChatListItem]:
        """The chats among them of which this user is a member, in any order."""

    async def of_user(self, user: UserId, kind: str | None, before: ActivityCursor, limit: int) -> Sequence[Chat]:
        """The chats of a user, of one kind or of all, most recent first."""

    async def latest(self, org: OrgId, before: ActivityCursor, limit: int) -> Sequence[Conversation]:
        """Customers' conversations, most recent first."""

    async def assigned_to(
        self, org: OrgId, user: str, before: ActivityCursor, limit: int
    ) -> Sequence[Conversation]: ...

    async def closed(self, org: OrgId, before: ActivityCursor, limit: int) -> Sequence[Conversation]: ...

    async def of_floor(self, org: OrgId, floor: str, before: ActivityCursor, limit: int) -> Sequence[Conversation]:
        """Conversations on an agent's floor: a user by id, or `human` for any agent."""


class DeviceFeeds(Protocol):
    """The feeds that devices follow, and their cursors."""

    async def feeds(self, org: OrgId, user: UserId) -> Sequence[FollowedFeed]:
        """A user's own feed, their team's, and those of the large groups that they belong to."""

    async def heads(self, feeds: Sequence[FeedName]) -> Mapping[FeedName, int]:
        """The head of each feed; 0 for an empty one."""

    async def oldest(self, feed: FeedName, after: int = 0) -> int | None:
        """The first item after this seq that is still stored; clocks differ, so a later item may be pruned earlier."""

    async def items(self, cursors: Mapping[FeedName, int], limit: int) -> Sequence[LoadedItem]:
        """The items of these feeds after their cursors, feed by feed, in order and without a gap, with the current
        state of their subjects; at most `limit` in all, so the last feeds may be cut or missing."""

    async def open(self, device: Device, now: Instant) -> Device:
        """The device as stored: a new one as given, with its first cursors; a known one with `seen_at` updated."""

    async def devices(self, user: UserId) -> Sequence[Device]: ...

    async def acked(self, moves: Sequence[CursorAck]) -> None:
        """Advance the cursors of devices; they never move back, and a removed device is ignored."""

    async def seen(self, devices: Sequence[tuple[UserId, DeviceId]], now: Instant) -> None:
        """Mark connected devices as seen; a removed device stays removed."""

    async def forget(self, before: Instant, after: tuple[UserId, DeviceId], limit: int) -> DeviceSweep:
        """Check `limit` devices after that one, and prune those not seen since `before`, with their cursors. A device
        with a push subscription stays as long as its user exists.

        The next hello of a pruned device counts as its first: it gets a new epoch."""

    async def remove(self, user: UserId, device: DeviceId) -> bool: ...

    async def subscribe(self, user: UserId, device: DeviceId, push: str | None) -> bool:
        """Set or clear the push subscription of a device; False if there is no such device."""

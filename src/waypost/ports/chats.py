"""Conversations as people live in them: posting, chats and their members, reading, the team's work, devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from waypost.model.chat import (
    Chat,
    Device,
    DeviceId,
    FeedName,
    Following,
    Member,
    MemberChange,
    NewChat,
    NewPost,
    ShownChat,
    ShownTalk,
    Told,
    WorkChange,
)
from waypost.model.conversation import Conversation, ConversationId, Position
from waypost.model.ids import MessageId, OrgId, UserId
from waypost.model.time import Instant
from waypost.rules.entry_ids import EntryId


class Posted(msgspec.Struct, frozen=True, tag=True):
    conversation_id: ConversationId
    position: Position
    id_at: Instant
    duplicate: bool
    message_id: MessageId | None = None
    """In the outbox, if it went out with this call."""


class OtherContent(msgspec.Struct, frozen=True, tag=True):
    """The sender's id for it was used for something else."""


class NoChat(msgspec.Struct, frozen=True, tag=True):
    """There is no such conversation for whoever asks."""


class NoConsent(msgspec.Struct, frozen=True, tag=True):
    """The customer said no, so it does not go out."""

    reason: str


class TooMany(msgspec.Struct, frozen=True, tag=True):
    """A group holds no more."""


class NotYours(msgspec.Struct, frozen=True, tag=True):
    """Somebody else's message."""


class NoMessage(msgspec.Struct, frozen=True, tag=True):
    """There is no such message in the conversation."""


PostAnswer: TypeAlias = Posted | OtherContent | NoChat | NoConsent


class ReadUp(msgspec.Struct, frozen=True, tag=True):
    position: Position
    moved: bool


class Acked(NamedTuple):
    user_id: UserId
    device_id: DeviceId
    feed: FeedName
    seq: int


class Looked(NamedTuple):
    """At some devices, in the order of their names."""

    gone: int
    last: tuple[UserId, DeviceId] | None
    """Where to go on; None at the end."""


FIRST_DEVICE = UserId(""), DeviceId("")
"""Before every other."""


class Before(msgspec.Struct, frozen=True):
    """Where a list by latest activity goes on: after this one."""

    active_at: Instant
    conversation_id: ConversationId


NEWEST = Before(Instant(2**62), ConversationId(2**62))
"""Where such a list begins."""


class Chats(Protocol):
    async def post(self, post: NewPost, now: Instant) -> PostAnswer:
        """Store a post once, as the next entry of its conversation, in every feed it belongs to; what goes out to a
        customer enters the outbox in the same transaction. The same id with the same content is the same post."""

    async def open(self, new: NewChat, now: Instant) -> Chat:
        """The chat that the pair names, made if need be; whoever is in it from the start is told."""

    async def change_members(
        self, org: OrgId, chat: ConversationId, change: MemberChange, by: UserId, now: Instant
    ) -> Sequence[Member] | NoChat | TooMany:
        """Who is removed sees nothing after it; a group that grows too large for feeds gets its own, without a gap."""

    async def rename(
        self, org: OrgId, chat: ConversationId, title: str | None, by: UserId, now: Instant
    ) -> Chat | NoChat:
        """Everybody in it sees the new title."""

    async def work(
        self, org: OrgId, conversation: ConversationId, change: WorkChange, by: str, now: Instant
    ) -> Conversation | NoChat:
        """What the team changes of a customer's conversation, seen by all of it."""

    async def erase(
        self, org: OrgId, message: EntryId, by: str, now: Instant, *, anybodys: bool = False
    ) -> NoChat | NoMessage | NotYours | None:
        """Leave nothing of a message but its place; only one's own, unless `anybodys` may be, which is audited. Again
        changes nothing.

        What was to go out with it and still waits is cancelled. Another message that has come to its place since is
        not meant.
        """

    async def read_up_to(self, org: OrgId, user: UserId, message: EntryId, now: Instant) -> ReadUp | NoChat | NoMessage:
        """Move somebody's marker forwards, never back."""

    async def get(self, org: OrgId, chat: ConversationId) -> Chat | None: ...

    async def members(self, chats: Sequence[ConversationId]) -> Sequence[Member]:
        """Of all of these, each chat's in the order in which they joined."""

    async def member(self, chat: ConversationId, user: UserId) -> Member | None: ...

    async def reads(self, chat: ConversationId) -> Mapping[UserId, Position]:
        """Up to where each has read it."""

    async def shown_talks(
        self, org: OrgId, user: UserId | None, talks: Sequence[ConversationId], most_unread: int
    ) -> Sequence[ShownTalk]:
        """Those of them that are this org's, in any order, as this person has read them."""

    async def shown_chats(self, user: UserId, chats: Sequence[ConversationId], most_unread: int) -> Sequence[ShownChat]:
        """Those of them that this person takes part in, in any order."""

    async def of_user(self, user: UserId, kind: str | None, before: Before, limit: int) -> Sequence[Chat]:
        """What somebody takes part in, of one kind or of all, the latest first."""

    async def latest(self, org: OrgId, before: Before, limit: int) -> Sequence[Conversation]:
        """Customers' conversations, the latest first."""

    async def assigned_to(self, org: OrgId, user: str, before: Before, limit: int) -> Sequence[Conversation]: ...

    async def closed(self, org: OrgId, before: Before, limit: int) -> Sequence[Conversation]: ...

    async def of_floor(self, org: OrgId, floor: str, before: Before, limit: int) -> Sequence[Conversation]:
        """Where a person has the floor: one by id, or `human`, which is whoever comes."""


class Follows(Protocol):
    """What devices follow, and how far they are."""

    async def feeds(self, org: OrgId, user: UserId) -> Sequence[Following]:
        """Somebody's own feed, their team's, and those of large groups that they are in."""

    async def heads(self, feeds: Sequence[FeedName]) -> Mapping[FeedName, int]:
        """Where each stands; one that nothing was written to stands at 0."""

    async def oldest(self, feed: FeedName, after: int = 0) -> int | None:
        """The first item after a number that is still kept: clocks differ, so a later one may be forgotten earlier."""

    async def told(self, cursors: Mapping[FeedName, int], limit: int) -> Sequence[Told]:
        """The items of these feeds after a number each, feed by feed, in order and without a gap, with what they are
        about as that stands now; no more than `limit` in all, so the last feeds may be cut or missing."""

    async def open(self, device: Device, now: Instant) -> Device:
        """As it is stored: a new one as given, with the cursors it begins at; a known one was seen."""

    async def devices(self, user: UserId) -> Sequence[Device]: ...

    async def acked(self, moves: Sequence[Acked]) -> None:
        """The devices have everything up to there; cursors only move forwards, and a device that is gone has none."""

    async def seen(self, devices: Sequence[tuple[UserId, DeviceId]], now: Instant) -> None:
        """They are connected still; one that is gone stays gone."""

    async def forget(self, before: Instant, after: tuple[UserId, DeviceId], limit: int) -> Looked:
        """Look at so many devices after that one, and forget those that were not seen since `before`, each with its
        cursors. One that can be pushed to stays, as long as its person does.

        The next hello of such a device is its first: it gets another epoch."""

    async def remove(self, user: UserId, device: DeviceId) -> bool: ...

    async def subscribe(self, user: UserId, device: DeviceId, push: str | None) -> bool:
        """Where to push to when the device is away; False when there is no such device."""

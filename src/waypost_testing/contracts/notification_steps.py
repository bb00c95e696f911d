"""Shared steps of the notification contracts: users with subscribed devices, who write and read."""

from __future__ import annotations

import hashlib

from waypost.model.account import Role, User
from waypost.model.chat import Chat, ChatKind, Device, DeviceId, FeedName, HistoryVisibility, MemberChange, NewChat
from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import UserId
from waypost.model.push import NotificationSettings, Subscription
from waypost.model.time import Instant, minutes
from waypost.ports.conversations.chats import ChatNotFound, CursorAck
from waypost.ports.ledger import Ledger
from waypost.rules.live.push_subscription import written
from waypost_testing.contracts.chat_steps import named, say
from waypost_testing.contracts.examples import ORG, T0, an_org, fresh

BEFORE = Instant(T0 - minutes(60))
"""When every user was last seen, and every chat was opened."""


class NotificationFixture:
    """A Ledger with users."""

    def __init__(self, ledger: Ledger, habits: NotificationSettings | None = None) -> None:
        self.ledger = ledger
        self.notifications = ledger.notifications
        self.habits = habits or NotificationSettings()
        self._known: set[UserId] = set()
        self._chats: dict[ConversationId, Chat] = {}

    async def person(self, user: UserId) -> None:
        if user in self._known:
            return
        if not self._known:
            await self.ledger.accounts.create_org(an_org(ORG, BEFORE), None)
        self._known.add(user)
        someone = User(id=user, org_id=ORG, name=user.title(), role=Role.AGENT, created_at=BEFORE)
        await self.ledger.accounts.add_user(someone, hashlib.sha256(user.encode()).digest())

    async def subscribe(
        self, user: UserId, device: DeviceId, subscription: Subscription | None, at: Instant = BEFORE
    ) -> None:
        """A device as its user registers it; it replaces an earlier registration."""
        await self.person(user)
        await self.come(user, device, at)
        push = None if subscription is None else written(subscription)
        assert await self.ledger.device_feeds.subscribe(user, device, push)

    async def come(self, user: UserId, device: DeviceId, at: Instant) -> None:
        fresh_one = Device(
            user_id=user, device_id=device, org_id=ORG, epoch="e", created_at=at, seen_at=at, push=None, cursors={}
        )
        await self.ledger.device_feeds.open(fresh_one, at)

    async def group(
        self, *members: UserId, kind: ChatKind = ChatKind.GROUP, history: HistoryVisibility = "all"
    ) -> ConversationId:
        """Named Lunch."""
        for each in members:
            await self.person(each)
        title = "Lunch" if kind is ChatKind.GROUP else None
        new = NewChat(org_id=ORG, kind=kind, pair=fresh("pair"), title=title, history=history, members=members)
        chat = await self.ledger.chats.open(new, BEFORE)
        self._chats[chat.id] = chat
        return chat.id

    def chat(self, conversation: ConversationId) -> Chat:
        return self._chats[conversation]

    async def post(self, conversation: ConversationId, sender: UserId, words: str, now: Instant) -> Position:
        """Post a text, and run the scan that finds it."""
        posted = await say(self.ledger, self._chats[conversation], sender, words, now)
        await self.look(now)
        return posted.position

    async def look(self, now: Instant) -> None:
        after = await self.notifications.look("", self.habits, now)
        while after:
            after = await self.notifications.look(after, self.habits, now)

    async def read(self, conversation: ConversationId, user: UserId, upto: Position, now: Instant) -> None:
        await self.ledger.chats.read_up_to(ORG, user, await named(self.ledger, conversation, upto), now)

    async def has(self, user: UserId, device: DeviceId, feed: str, seq: int) -> None:
        """Move a device's cursor."""
        await self.ledger.device_feeds.acked([CursorAck(user, device, FeedName(feed), seq)])

    async def change(
        self, conversation: ConversationId, by: UserId, now: Instant, *, add: UserId | None = None, remove: bool = False
    ) -> None:
        change = MemberChange(add=(add,) if add else (), remove=(by,) if remove else ())
        done = await self.ledger.chats.change_members(ORG, conversation, change, by, now)
        assert not isinstance(done, ChatNotFound)

"""Who is to be told, in memory: for the step's own tests, held to the same contract as the Ledger's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import Fence, OrgId, UserId, WorkerId
from waypost.model.push import Dead, DeviceId, Dropped, Listener, PutOff, Subscription, Talk, Told, Verdict
from waypost.model.time import Instant, Span
from waypost.rules.push import Habits, first_look

NOWHERE, FIRST = Position(0), Fence(0)
Name: TypeAlias = tuple[UserId, DeviceId]


@dataclass
class Device:
    subscription: Subscription | None
    not_before: Instant | None = None
    failures: int = 0


@dataclass
class Conversation:
    id: ConversationId
    members: set[UserId]
    posts: list[tuple[UserId, str, Instant]] = field(default_factory=list)
    due_at: Instant | None = None
    lease_until: Instant | None = None
    fence: Fence = FIRST
    muted: set[UserId] = field(default_factory=set)
    shown: dict[UserId, Position] = field(default_factory=dict)
    told: dict[Name, tuple[Position, Instant | None]] = field(default_factory=dict)

    @property
    def free_at(self) -> Instant | None:
        return self.lease_until or self.due_at


class MemoryDevices:
    def __init__(self) -> None:
        self.devices = self
        self.known: dict[Name, Device] = {}
        self.conversations: dict[ConversationId, Conversation] = {}
        self.connected: set[UserId] = set()
        self.seen: defaultdict[UserId, Instant | None] = defaultdict(lambda: None)

    # What the rest of a Ledger does

    async def group(self, *members: UserId) -> ConversationId:
        conversation = Conversation(ConversationId(len(self.conversations) + 1), set(members))
        self.conversations[conversation.id] = conversation
        return conversation.id

    async def subscribe(self, user: UserId, device: DeviceId, subscription: Subscription | None) -> None:
        self.known[user, device] = Device(subscription)

    async def post(self, conversation: ConversationId, sender: UserId, words: str, now: Instant) -> Position:
        found = self.conversations[conversation]
        found.posts.append((sender, words, now))
        found.due_at = first_look(found.due_at, Habits(), now)
        return Position(len(found.posts))

    async def read(self, conversation: ConversationId, user: UserId, upto: Position, now: Instant) -> None:
        self.conversations[conversation].shown[user] = upto

    async def mute(self, conversation: ConversationId, user: UserId) -> None:
        self.conversations[conversation].muted.add(user)

    async def leave(self, conversation: ConversationId, user: UserId, now: Instant) -> None:
        self.conversations[conversation].members.discard(user)

    async def connect(self, user: UserId, now: Instant) -> None:
        self.connected.add(user)
        self.seen[user] = now

    async def disconnect(self, user: UserId, now: Instant) -> None:
        self.connected.discard(user)
        self.seen[user] = now

    # The port

    async def next_notice(self) -> Instant | None:
        return min((at for each in self.conversations.values() if (at := each.free_at) is not None), default=None)

    async def to_notify(self, owner: WorkerId, limit: int, lease: Span, now: Instant) -> Sequence[Talk]:
        free = [(at, each) for each in self.conversations.values() if (at := each.free_at) is not None and at <= now]
        free.sort(key=lambda pair: pair[0])
        talks = []
        for _, each in free[:limit]:
            each.due_at, each.lease_until, each.fence = None, Instant(now + lease), Fence(each.fence + 1)
            talks.append(self._talk(each))
        return talks

    def _talk(self, conversation: Conversation) -> Talk:
        sender, words, at = conversation.posts[-1]
        there = [name for name in self.known if name[0] in conversation.members]
        listeners = (self._listener(conversation, name, self.known[name]) for name in there)
        return Talk(
            org_id=OrgId("acme"),
            conversation_id=conversation.id,
            kind="group",
            title="Lunch",
            latest=Position(len(conversation.posts)),
            sender=sender,
            words=words,
            at=at,
            floor="human",
            assignee=None,
            listeners=tuple(each for each in listeners if each is not None),
            fence=conversation.fence,
        )

    def _listener(self, conversation: Conversation, name: Name, device: Device) -> Listener | None:
        if device.subscription is None:
            return None
        user, device_id = name
        shown = conversation.shown.get(user, NOWHERE)
        told, told_at = conversation.told.get(name, (NOWHERE, None))
        return Listener(
            device_id=device_id,
            user_id=user,
            subscription=device.subscription,
            connected=user in self.connected,
            seen_at=self.seen[user],
            shown=shown,
            unread=sum(sender != user for sender, _, _ in conversation.posts[shown:]),
            muted=user in conversation.muted,
            told=told,
            told_at=told_at,
            not_before=device.not_before,
            failures=device.failures,
        )

    async def settle(
        self, talk: Talk, verdicts: Sequence[tuple[Listener, Verdict]], look_again: Instant | None
    ) -> bool:
        for listener, verdict in verdicts:
            device = self.known[listener.user_id, listener.device_id]
            if isinstance(verdict, Dead) and device.subscription == listener.subscription:
                device.subscription = None
        conversation = self.conversations[talk.conversation_id]
        if conversation.fence != talk.fence:
            return False
        for listener, verdict in verdicts:
            self._write(conversation, (listener.user_id, listener.device_id), verdict)
        conversation.lease_until = None
        looks = [at for at in (conversation.due_at, look_again) if at is not None]
        conversation.due_at = min(looks, default=None)
        return True

    def _write(self, conversation: Conversation, name: Name, verdict: Verdict) -> None:
        device, (_, told_at) = self.known[name], conversation.told.get(name, (NOWHERE, None))
        match verdict:
            case Told(upto, at):
                conversation.told[name], device.failures = (upto, at), 0
            case Dropped(upto):
                conversation.told[name], device.failures = (upto, told_at), 0
            case PutOff(until):
                device.not_before, device.failures = until, device.failures + 1
            case Dead():
                pass

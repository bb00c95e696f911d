"""The live connections of this process: their users, feeds, presence and typing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

import msgspec
import structlog

from waypost.flow.accounts import access
from waypost.flow.live import devices
from waypost.flow.live.follow import Tails
from waypost.flow.world import World
from waypost.http.live import frames, session
from waypost.http.live.frames import FrameBatch
from waypost.http.live.session import Session
from waypost.model.account import Caller
from waypost.model.chat import DeviceId, FeedName
from waypost.model.ids import OrgId, UserId
from waypost.model.time import Instant, Span, as_seconds, hours, seconds
from waypost.ports.conversations.chats import CursorAck
from waypost.ports.live.live_connection import Bundle, Frame, LiveConnection
from waypost.ports.live.presence import PresenceState
from waypost.ports.platform.failure import LedgerError
from waypost.ports.platform.hints import DEVICE, REMOVED, TOKENS, TYPING

log = structlog.get_logger("live")

HEARTBEAT: Span = seconds(15)
SILENT_FOR: Span = Span(HEARTBEAT * 3)
"""A connection without a frame for so long is closed."""
HELLO_WITHIN: Span = seconds(10)
TICK: Span = seconds(1)
LOOK_AT_TOKENS_EVERY: Span = seconds(15)
"""Finds ended tokens whose hint was lost."""
CONNECTIONS_EACH = 20
"""Per user, in one process."""
FOLLOWED_BY_FEW = 500
"""Presence is sent only to teams with no more followers than this."""
PRESENCE_AT_ONCE = 20
"""A larger team gets all changes within `GATHER_PRESENCE` in one write: after a restart everyone reconnects."""
GATHER_PRESENCE: Span = seconds(0.2)
SEEN_EVERY: Span = hours(1)
"""How often the Ledger learns that a device is still connected: devices unseen for days are removed."""
SEEN_AT_ONCE = 1_000


class Gateway:
    def __init__(self, world: World) -> None:
        self.world = world
        self.tails: Tails[FrameBatch] = Tails(world, frames.news)
        self.heartbeat_ms = round(as_seconds(HEARTBEAT) * 1000)
        self._before_hello: dict[Session, None] = {}
        self._sessions: dict[UserId, dict[DeviceId, Session]] = {}
        self._known: dict[Session, tuple[UserId, bytes]] = {}
        """Sessions after hello: the user and the digest of their token."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._last_presence: dict[UserId, PresenceState] = {}
        self._closing = False

    def welcome(self, link: LiveConnection) -> Session:
        client = Session(link, self)
        self._before_hello[client] = None
        if self._closing:
            client.close(session.GOING_AWAY, "server going away")
        return client

    def enter(self, client: Session, user: UserId, device: DeviceId, token: str) -> bool:
        """A device has one connection: an older one is closed, also in another process."""
        theirs = self._sessions.setdefault(user, {})
        if device not in theirs and len(theirs) >= CONNECTIONS_EACH:
            return False
        older, theirs[device] = theirs.get(device), client
        client.device = device
        self._before_hello.pop(client, None)
        self._known[client] = (user, access.digest(token))
        if older is not None:
            self._replace(older)
        return True

    def answered(self, client: Session) -> None:
        """Announce the device to the other processes, ordered by the Ledger's time: clocks may differ."""
        at, epoch = client.began
        user, _ = self._known[client]
        self.world.hints.give([f"{DEVICE}:{epoch} {at} {user} {client.device}"])
        self._give_way_if_older(client)

    def _replace(self, older: Session) -> None:
        self._note_acks([older])
        older.close(session.REPLACED, "a newer connection of this device took over")

    def leave(self, client: Session) -> None:
        self._before_hello.pop(client, None)
        user, _ = self._known.pop(client, (None, b""))
        if user is None or self._sessions.get(user, {}).get(client.device) is not client:
            return  # no hello yet, or a newer connection took over
        del self._sessions[user][client.device]
        if not self._sessions[user]:
            del self._sessions[user]
        self._note_acks([client])
        if client.caller is not None:
            self.world.presence.set(client.caller.org_id, user, client.device, PresenceState.OFFLINE)

    def publish_presence(self, client: Session, caller: Caller) -> None:
        """Presence expires, so it is published again and again."""
        if caller.user_id is not None:
            self.world.presence.set(caller.org_id, caller.user_id, client.device, client.presence)

    def broadcast_typing(self, caller: Caller, conversation: str, feeds: Sequence[FeedName]) -> None:
        self.world.hints.give([f"{TYPING}:{' '.join([conversation, caller.user_id or '', *feeds])}"])

    def keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def connected(self) -> int:
        return len(self._before_hello) + len(self._known)

    # Background work

    @property
    def works(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """What must run while clients may be connected."""
        return (
            self.tails.run,
            self.listen_to_typing,
            self.listen_for_newer,
            self.watch_presence,
            self.check_tokens,
            self.tick,
        )

    async def listen_to_typing(self) -> None:
        with self.world.hints.listen(TYPING) as listener:
            while True:
                await listener.wait(seconds(60))
                for name in listener.named():
                    self._send_typing(name)

    async def listen_for_newer(self) -> None:
        """Close connections whose device connected elsewhere, or was removed."""
        with self.world.hints.listen(DEVICE) as listener:
            while True:
                await listener.wait(seconds(60))
                for name in listener.named():
                    self._give_way(name)

    def _send_typing(self, name: str) -> None:
        conversation, user, *feeds = name.split(" ")
        bundle = frames.one(frames.UserTypingFrame(conversation_id=conversation, user_id=user))
        for feed in feeds:
            self._broadcast(FeedName(feed), bundle, but=user)

    def _broadcast(self, feed: FeedName, bundle: Bundle, but: str = "") -> None:
        for follower in self.tails.followers(feed):
            if isinstance(follower, Session) and follower.caller and follower.caller.user_id != but:
                follower.send_transient(bundle)

    def _give_way(self, name: str) -> None:
        """Close the older connection; hints may arrive out of order."""
        epoch, at, user, device = name.split(" ", 3)
        here = self._sessions.get(UserId(user), {}).get(DeviceId(device))
        if here is None:
            return
        if epoch == REMOVED:
            here.close(session.COME_BACK, "this device was removed: come back, and read everything anew")
            return
        here.newer = max(here.newer, (Instant(int(at)), epoch))
        self._give_way_if_older(here)

    def _give_way_if_older(self, here: Session) -> None:
        """Connections of different epochs are not compared: the removal between them has its own hint."""
        (at, epoch), (newer_at, newer_epoch) = here.began, here.newer
        if epoch != newer_epoch or at >= newer_at:
            return
        user, _ = self._known[here]
        theirs = self._sessions[user]
        del theirs[here.device]  # so that its end does not set the device offline: it is connected elsewhere
        if not theirs:
            del self._sessions[user]
        self._replace(here)

    async def watch_presence(self) -> None:
        """Send presence changes to the team."""
        with self.world.presence.listen() as listener:
            while True:
                await listener.wait(seconds(60))
                people = dict.fromkeys(listener.named())
                teams = {FeedName(f"team:{org}") for org, _ in people}
                if any(len(self.tails.followers(team)) > PRESENCE_AT_ONCE for team in teams):
                    await self.world.clock.sleep(GATHER_PRESENCE)
                    people |= dict.fromkeys(listener.named())
                await self._send_current_presence(list(people))

    async def _send_current_presence(self, people: Sequence[tuple[OrgId, UserId]]) -> None:
        states = await self.world.presence.of([user for _, user in people])
        news: dict[OrgId, dict[UserId, Frame]] = {}
        for org, user in people:
            state = states[user]
            if self._last_presence.pop(user, PresenceState.OFFLINE) is not state:
                frame = frames.PresenceFrame(user_id=user, state=state.value)
                news.setdefault(org, {})[user] = Frame(msgspec.json.encode(frame))
            if state is not PresenceState.OFFLINE:
                self._last_presence[user] = state
        for org, about in news.items():
            self._send_presence(FeedName(f"team:{org}"), about)

    def _send_presence(self, feed: FeedName, about: Mapping[UserId, Frame]) -> None:
        """All in one write; users do not get their own presence."""
        followers = self.tails.followers(feed)
        if len(followers) > FOLLOWED_BY_FEW:
            return
        whole = Bundle(about.values())
        for follower in followers:
            own = follower.caller.user_id if isinstance(follower, Session) and follower.caller else None
            if isinstance(follower, Session) and own is not None:
                others = [frame for user, frame in about.items() if user != own] if own in about else None
                follower.send_transient(whole if others is None else Bundle(others))

    async def tick(self) -> None:
        """Store acks, close silent connections, publish presence again."""
        published_at = Instant(0)
        while True:
            await self.world.clock.sleep(TICK)
            now = self.world.clock.now()
            sessions = [each for theirs in self._sessions.values() for each in theirs.values()]
            self._close_silent(now)
            self.world.meters.connected(self.connected)
            await self._store_acks(sessions)
            if now - published_at >= HEARTBEAT // 2:
                published_at = now
                for each in sessions:
                    if each.caller is not None:
                        self.publish_presence(each, each.caller)
                await self._store_seen(sessions, now)

    async def _store_seen(self, sessions: Sequence[Session], now: Instant) -> None:
        """A limited number at a time: after a restart all devices connect at once."""
        due = [each for each in sessions if now - each.seen_at >= SEEN_EVERY][:SEEN_AT_ONCE]
        named = [(each.caller.user_id, each.device) for each in due if each.caller and each.caller.user_id]
        try:
            await devices.mark_seen(named, now, self.world)
        except LedgerError as failure:
            log.warning("devices_not_seen", count=len(due), error=str(failure))
            return
        for each in due:
            each.seen_at = now

    def _close_silent(self, now: Instant) -> None:
        late = [each for each in self._before_hello if now - each.last_frame_at > HELLO_WITHIN]
        for each in [each for each in late if not each.waits_for_welcome]:
            self._before_hello.pop(each, None)
            each.close(session.COME_BACK, "no hello came in time: come back")
        silent = [each for each in self._known if now - each.last_frame_at > SILENT_FOR]
        for each in [each for each in silent if not each.waits_for_welcome]:
            each.close(session.COME_BACK, "nothing was heard of you: come back")

    def _note_acks(self, sessions: Sequence[Session]) -> None:
        """For a session that ends, in the background: a lost ack only makes the device read again."""
        if moves := _moves(sessions):
            self.keep(asyncio.ensure_future(self._put_acks(moves)))

    async def _store_acks(self, sessions: Sequence[Session]) -> None:
        if moves := _moves(sessions):
            await self._put_acks(moves)

    async def _put_acks(self, moves: Sequence[CursorAck]) -> None:
        try:
            await devices.acknowledge(moves, self.world)
        except LedgerError as failure:
            log.warning("acks_not_stored", count=len(moves), error=str(failure))

    async def check_tokens(self) -> None:
        """Close the connections whose token has ended."""
        with self.world.hints.listen(TOKENS) as listener:
            while True:
                woken = await listener.wait(LOOK_AT_TOKENS_EVERY)
                try:
                    await self._close_ended(
                        {UserId(name) for name in listener.named()} if woken else set(self._sessions)
                    )
                except LedgerError as failure:
                    log.warning("tokens_not_checked", error=str(failure))

    async def _close_ended(self, users: Collection[UserId]) -> None:
        """One query for all users: a hint may be lost, and does not reach every machine."""
        valid = await access.token_digests(sorted(users), self.world)
        for each, (user, digest) in list(self._known.items()):
            if user in users and valid.get(user) != digest:
                each.close(session.NOT_KNOWN, "this token has ended")

    def close_all(self) -> None:
        """The server stops: clients reconnect to another server, or to the next one."""
        self._closing = True
        for each in [*self._before_hello, *self._known]:
            each.close(session.GOING_AWAY, "server going away")


def _moves(sessions: Sequence[Session]) -> list[CursorAck]:
    return [
        CursorAck(each.caller.user_id, each.device, feed, seq)
        for each in sessions
        if each.caller is not None and each.caller.user_id is not None
        for feed, seq in each.take_acks().items()
    ]

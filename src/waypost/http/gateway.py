"""Everybody who is connected to this process: who they are, what they follow, and what they are told of each other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

import msgspec
import structlog

from waypost.flow import admit
from waypost.flow.follow import Tails
from waypost.flow.world import World
from waypost.http import frames, session
from waypost.http.frames import News
from waypost.http.session import Session
from waypost.model.account import Caller
from waypost.model.chat import DeviceId, FeedName
from waypost.model.ids import OrgId, UserId
from waypost.model.time import Instant, Span, as_seconds, hours, seconds
from waypost.ports.chats import Acked
from waypost.ports.failure import LedgerError
from waypost.ports.hints import DEVICE, REMOVED, TOKENS, TYPING
from waypost.ports.link import Bundle, Frame, Link
from waypost.ports.whereabouts import Presence

log = structlog.get_logger("live")

HEARTBEAT: Span = seconds(15)
SILENT_FOR: Span = Span(HEARTBEAT * 3)
"""A connection that says nothing for so long is gone, whatever the network thinks."""
HELLO_WITHIN: Span = seconds(10)
TICK: Span = seconds(1)
LOOK_AT_TOKENS_EVERY: Span = seconds(15)
"""Where the hint that somebody's ended was lost."""
CONNECTIONS_EACH = 20
"""Of one person, in one process."""
FOLLOWED_BY_FEW = 500
"""Who is here is told around only where no more than this would hear it."""
TOLD_AT_ONCE = 20
"""A larger team is told of all who came within `GATHER_PEOPLE` in one write: after a restart everybody comes."""
GATHER_PEOPLE: Span = seconds(0.2)
SEEN_EVERY: Span = hours(1)
"""Said to the Ledger of who stays connected: whoever is not seen for days is forgotten."""
SEEN_AT_ONCE = 1_000


class Gateway:
    def __init__(self, world: World) -> None:
        self.world = world
        self.tails: Tails[News] = Tails(world, frames.news)
        self.heartbeat_ms = round(as_seconds(HEARTBEAT) * 1000)
        self._strangers: dict[Session, None] = {}
        self._people: dict[UserId, dict[DeviceId, Session]] = {}
        self._known: dict[Session, tuple[UserId, bytes]] = {}
        """Who said hello: whose connection it is, and the digest of their token."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._told: dict[UserId, Presence] = {}
        self._closing = False

    def welcome(self, link: Link) -> Session:
        visitor = Session(link, self)
        self._strangers[visitor] = None
        if self._closing:
            visitor.close(session.GOING_AWAY, "server going away")
        return visitor

    def enter(self, visitor: Session, user: UserId, device: DeviceId, token: str) -> bool:
        """A device has one connection: the older one ends, in whichever process it is."""
        theirs = self._people.setdefault(user, {})
        if device not in theirs and len(theirs) >= CONNECTIONS_EACH:
            return False
        older, theirs[device] = theirs.get(device), visitor
        visitor.device = device
        self._strangers.pop(visitor, None)
        self._known[visitor] = (user, admit.digest(token))
        if older is not None:
            self._replace(older)
        return True

    def answered(self, visitor: Session) -> None:
        """Told to the other processes in the order of the Ledger: their clocks need not agree."""
        at, epoch = visitor.began
        user, _ = self._known[visitor]
        self.world.hints.give([f"{DEVICE}:{epoch} {at} {user} {visitor.device}"])
        self._give_way_if_older(visitor)

    def _replace(self, older: Session) -> None:
        self._note_acks([older])
        older.close(session.REPLACED, "a newer connection of this device took over")

    def leave(self, visitor: Session) -> None:
        self._strangers.pop(visitor, None)
        user, _ = self._known.pop(visitor, (None, b""))
        if user is None or self._people.get(user, {}).get(visitor.device) is not visitor:
            return  # nobody, or somebody whose newer connection took over
        del self._people[user][visitor.device]
        if not self._people[user]:
            del self._people[user]
        self._note_acks([visitor])
        if visitor.caller is not None:
            self.world.whereabouts.say(visitor.caller.org_id, user, visitor.device, Presence.OFFLINE)

    def say_where(self, visitor: Session, caller: Caller) -> None:
        """Catching up, or here; said again and again, since it expires."""
        if caller.user_id is not None:
            presence = Presence.ONLINE if visitor.is_live else Presence.SYNCING
            self.world.whereabouts.say(caller.org_id, caller.user_id, visitor.device, presence)

    def somebody_types(self, caller: Caller, conversation: str, feeds: Sequence[FeedName]) -> None:
        self.world.hints.give([f"{TYPING}:{' '.join([conversation, caller.user_id or '', *feeds])}"])

    def keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def connected(self) -> int:
        return len(self._strangers) + len(self._known)

    # For ever

    @property
    def works(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """What must run as long as anybody may be connected."""
        return (
            self.tails.run,
            self.listen_to_typing,
            self.listen_for_newer,
            self.watch_people,
            self.check_tokens,
            self.tick,
        )

    async def listen_to_typing(self) -> None:
        with self.world.hints.listen(TYPING) as ear:
            while True:
                await ear.wait(seconds(60))
                for name in ear.named():
                    self._tell_typing(name)

    async def listen_for_newer(self) -> None:
        """Which devices came anew elsewhere, or were removed."""
        with self.world.hints.listen(DEVICE) as ear:
            while True:
                await ear.wait(seconds(60))
                for name in ear.named():
                    self._give_way(name)

    def _tell_typing(self, name: str) -> None:
        conversation, user, *feeds = name.split(" ")
        bundle = frames.one(frames.SomebodyTypes(conversation_id=conversation, user_id=user))
        for feed in feeds:
            self._tell(FeedName(feed), bundle, but=user)

    def _tell(self, feed: FeedName, bundle: Bundle, but: str = "") -> None:
        for follower in self.tails.followers(feed):
            if isinstance(follower, Session) and follower.caller and follower.caller.user_id != but:
                follower.tell(bundle)

    def _give_way(self, name: str) -> None:
        """To one that came later: news of an earlier one may arrive after it."""
        epoch, at, user, device = name.split(" ", 3)
        here = self._people.get(UserId(user), {}).get(DeviceId(device))
        if here is None:
            return
        if epoch == REMOVED:
            here.close(session.COME_BACK, "this device was removed: come back, and read everything anew")
            return
        here.newer = max(here.newer, (Instant(int(at)), epoch))
        self._give_way_if_older(here)

    def _give_way_if_older(self, here: Session) -> None:
        """Of two epochs neither is older: a removal came between them, and tells for itself."""
        (at, epoch), (newer_at, newer_epoch) = here.began, here.newer
        if epoch != newer_epoch or at >= newer_at:
            return
        user, _ = self._known[here]
        theirs = self._people[user]
        del theirs[here.device]  # so that its end says nothing of the device, which is elsewhere now
        if not theirs:
            del self._people[user]
        self._replace(here)

    async def watch_people(self) -> None:
        """Who came and went, told to those who work with them."""
        with self.world.whereabouts.listen() as ear:
            while True:
                await ear.wait(seconds(60))
                people = dict.fromkeys(ear.named())
                teams = {FeedName(f"team:{org}") for org, _ in people}
                if any(len(self.tails.followers(team)) > TOLD_AT_ONCE for team in teams):
                    await self.world.clock.sleep(GATHER_PEOPLE)
                    people |= dict.fromkeys(ear.named())
                await self._tell_who_is_here(list(people))

    async def _tell_who_is_here(self, people: Sequence[tuple[OrgId, UserId]]) -> None:
        states = await self.world.whereabouts.of([user for _, user in people])
        news: dict[OrgId, dict[UserId, Frame]] = {}
        for org, user in people:
            state = states[user]
            if self._told.pop(user, Presence.OFFLINE) is not state:
                told = frames.SomebodyIs(user_id=user, state=state.value)
                news.setdefault(org, {})[user] = Frame(msgspec.json.encode(told))
            if state is not Presence.OFFLINE:
                self._told[user] = state
        for org, about in news.items():
            self._tell_of_people(FeedName(f"team:{org}"), about)

    def _tell_of_people(self, feed: FeedName, about: Mapping[UserId, Frame]) -> None:
        """All in one write; nobody is told of themselves."""
        followers = self.tails.followers(feed)
        if len(followers) > FOLLOWED_BY_FEW:
            return
        everybody = Bundle(about.values())
        for follower in followers:
            own = follower.caller.user_id if isinstance(follower, Session) and follower.caller else None
            if isinstance(follower, Session) and own is not None:
                others = [frame for user, frame in about.items() if user != own] if own in about else None
                follower.tell(everybody if others is None else Bundle(others))

    async def tick(self) -> None:
        """Acks are stored, the silent are closed, who is here is said again."""
        said_at = Instant(0)
        while True:
            await self.world.clock.sleep(TICK)
            now = self.world.clock.now()
            everybody = [each for theirs in self._people.values() for each in theirs.values()]
            self._close_the_silent(now)
            self.world.meters.connected(self.connected)
            await self._store_acks(everybody)
            if now - said_at >= HEARTBEAT // 2:
                said_at = now
                for each in everybody:
                    if each.caller is not None:
                        self.say_where(each, each.caller)
                await self._store_seen(everybody, now)

    async def _store_seen(self, sessions: Sequence[Session], now: Instant) -> None:
        """Of those who said hello long ago, so many at a time: after a restart everybody did at once."""
        due = [each for each in sessions if now - each.seen_at >= SEEN_EVERY][:SEEN_AT_ONCE]
        named = [(each.caller.user_id, each.device) for each in due if each.caller and each.caller.user_id]
        try:
            await self.world.ledger.follows.seen(named, now)
        except LedgerError as failure:
            log.warning("devices_not_seen", count=len(due), error=str(failure))
            return
        for each in due:
            each.seen_at = now

    def _close_the_silent(self, now: Instant) -> None:
        late = [each for each in self._strangers if now - each.heard_at > HELLO_WITHIN]
        for each in [each for each in late if not each.waits_for_welcome]:
            self._strangers.pop(each, None)
            each.close(session.COME_BACK, "no hello came in time: come back")
        silent = [each for each in self._known if now - each.heard_at > SILENT_FOR]
        for each in [each for each in silent if not each.waits_for_welcome]:
            each.close(session.COME_BACK, "nothing was heard of you: come back")

    def _note_acks(self, sessions: Sequence[Session]) -> None:
        """Of one that leaves: stored by the way, since they only save the device from reading again."""
        if moves := _moves(sessions):
            self.keep(asyncio.ensure_future(self._put_acks(moves)))

    async def _store_acks(self, sessions: Sequence[Session]) -> None:
        if moves := _moves(sessions):
            await self._put_acks(moves)

    async def _put_acks(self, moves: Sequence[Acked]) -> None:
        try:
            await self.world.ledger.follows.acked(moves)
        except LedgerError as failure:
            log.warning("acks_not_stored", count=len(moves), error=str(failure))

    async def check_tokens(self) -> None:
        """Whoever's token ended is sent away."""
        with self.world.hints.listen(TOKENS) as ear:
            while True:
                heard = await ear.wait(LOOK_AT_TOKENS_EVERY)
                try:
                    await self._close_the_ended({UserId(name) for name in ear.named()} if heard else set(self._people))
                except LedgerError as failure:
                    log.warning("tokens_not_checked", error=str(failure))

    async def _close_the_ended(self, users: Collection[UserId]) -> None:
        """One question for everybody: a hint may be lost, and does not reach every machine."""
        valid = await self.world.ledger.accounts.tokens(sorted(users))
        for each, (user, digest) in list(self._known.items()):
            if user in users and valid.get(user) != digest:
                each.close(session.NOT_KNOWN, "this token has ended")

    def say_goodbye(self) -> None:
        """The server stops: everybody comes back, to another one or to the next."""
        self._closing = True
        for each in [*self._strangers, *self._known]:
            each.close(session.GOING_AWAY, "server going away")


def _moves(sessions: Sequence[Session]) -> list[Acked]:
    return [
        Acked(each.caller.user_id, each.device, feed, seq)
        for each in sessions
        if each.caller is not None and each.caller.user_id is not None
        for feed, seq in each.take_acks().items()
    ]

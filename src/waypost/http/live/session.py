"""One device's live connection: hello, catching up, live, and the frames its user sends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, assert_never

import msgspec
import structlog

from waypost.flow.accounts import access
from waypost.flow.conversations import inbox
from waypost.flow.live import devices
from waypost.flow.live.devices import DeviceHello
from waypost.http.edge import cookies
from waypost.http.live import frames, live_commands
from waypost.http.live.frame_queue import FrameQueue
from waypost.http.live.frames import FrameBatch, NumberedFrame
from waypost.http.live.session_state import MOVES, ONCE_LIVE, READING, NextRound, SessionMove, SessionState
from waypost.model.account import Caller
from waypost.model.chat import DeviceId, FeedName, LoadedItem
from waypost.model.ids import UserId
from waypost.model.policy import RequestRate
from waypost.model.time import Instant, Span, seconds
from waypost.ports.live.live_connection import Bundle, LiveConnection
from waypost.ports.live.presence import PresenceState
from waypost.ports.platform.failure import HistoryUnavailable, LedgerError
from waypost.rules.limits.request_rate import RateLimited, draw
from waypost.rules.live import catchup

if TYPE_CHECKING:
    from waypost.http.live.gateway import Gateway

log = structlog.get_logger("live")

COME_BACK, GOING_AWAY, SLOW = 4000, 4001, 4008
NOT_KNOWN, FORBIDDEN, REPLACED = 4401, 4403, 4409
RATE = RequestRate(per_second=50, burst=200)
"""Frames that one connection may send."""
MOST_WAITING = 1024 * 1024
"""Bytes that the network has not taken; a slower device is closed and reconnects without a loss."""
CATCH_UP_PAGE = 200
TYPING_EVERY: Span = seconds(2)
MOST_KEPT = 1000
"""Items of a feed buffered while pages are read; later ones are read as pages."""
RETRY_HISTORY_EVERY: Span = seconds(1)

NEVER = (Instant(0), "")
"""No hello of any epoch."""


class Session:
    """The handler of one connection."""

    __slots__ = (
        "_acked",
        "_answered",
        "_bucket",
        "_cursors",
        "_gateway",
        "_kept",
        "_link",
        "_next_round",
        "_queue",
        "_state",
        "_typed",
        "began",
        "caller",
        "device",
        "last_frame_at",
        "newer",
        "presence",
        "seen_at",
    )

    def __init__(self, link: LiveConnection, gateway: Gateway) -> None:
        self._link = link
        self._gateway = gateway
        self._queue = FrameQueue(link, self._answer)
        self._cursors: dict[FeedName, int] = {}
        self._kept: dict[FeedName, list[NumberedFrame]] | None = None
        self._acked: dict[FeedName, int] | None = None
        self._typed: dict[str, Instant] | None = None
        self._state, self._next_round = SessionState.CONNECTED, NextRound.NOTHING
        self._bucket = Instant(0)
        self.caller: Caller | None = None
        self.device = DeviceId("")
        self.presence = PresenceState.SYNCING
        self.last_frame_at = self.seen_at = gateway.world.clock.now()
        self.began = self.newer = NEVER
        self._answered = False

    # Called by the connection

    def received(self, text: bytes) -> None:
        if self.is_over:
            return
        now = self._gateway.world.clock.now()
        self.last_frame_at = now if self.caller else self.last_frame_at  # before hello it stays
        drawn = draw(self._bucket, RATE, now)
        if isinstance(drawn, RateLimited):
            self._complain("rate_limited", "this connection sends too many frames: slow down", retryable=True)
            return
        self._bucket = drawn
        self._notice_answer()
        try:
            frame = frames.read_frame(text)
        except (msgspec.DecodeError, RecursionError) as wrong:
            self._complain("invalid_frame", str(wrong)[:200], about=frames.name_in(text))
            return
        self._dispatch(frame)

    def _notice_answer(self) -> None:
        """Announce the device once it answers its welcome: a connection that broke before must not end the next one."""
        if self.began is not NEVER and not self._answered:
            self._answered = True
            self._gateway.answered(self)

    def gone(self) -> None:
        self._move(SessionMove.CLOSE)
        for feed in self._cursors:
            self._gateway.tails.leave(feed, self)
        self._queue.stop()
        self._gateway.leave(self)

    # Called by the gateway and the tails

    def take(self, feed: FeedName, last: int, news: FrameBatch) -> None:
        """Runs for every follower of the feed: the usual case is one comparison and one write."""
        if self._state is not SessionState.LIVE:
            self._keep(feed, news)
            return
        cursor = self._cursors[feed]
        if cursor == news.first - 1 and not news.changes:
            self._cursors[feed] = last
            self._send(news.bundle)
        elif cursor < last and not self._advance(feed, news.items, ()):
            self._catch_up_again()

    def _keep(self, feed: FeedName, news: FrameBatch) -> None:
        if self._state in READING:
            self._kept = self._kept or {}
            if len(kept := self._kept.setdefault(feed, [])) < MOST_KEPT:
                kept.extend(news.items)

    def close(self, code: int, reason: str) -> None:
        self._move(SessionMove.CLOSE)
        self._gateway.world.meters.sent_away(code)
        self._link.close(code, reason)

    def send_transient(self, bundle: Bundle) -> None:
        """Send what may be lost: typing and presence."""
        if self._state in ONCE_LIVE:
            self._send(bundle)

    def take_acks(self) -> Mapping[FeedName, int]:
        acked, self._acked = self._acked, None
        return acked or {}

    @property
    def waits_for_welcome(self) -> bool:
        """Hello came and is being answered: the delay is ours."""
        return self.caller is None and self._queue.is_busy

    @property
    def is_over(self) -> bool:
        return self._state is SessionState.CLOSED

    # Internal

    def _move(self, move: SessionMove) -> bool:
        """False when the state allows no such move."""
        before, self._state = self._state, MOVES.get((self._state, move), self._state)
        return self._state is not before

    def _send(self, bundle: Bundle) -> None:
        """Checks the backlog before it sends, so that one large bundle does not close a connection."""
        if self._link.waiting > MOST_WAITING and not self.is_over:
            self.close(SLOW, "you read too slowly: come back, nothing is lost")
        self._link.send(bundle)

    def _complain(self, code: str, detail: str, *, retryable: bool = False, about: str | None = None) -> None:
        self._send(
            frames.one(frames.ErrorFrame(code=code, retryable=retryable, detail=detail, client_message_id=about))
        )

    def _dispatch(self, frame: frames.FromClient) -> None:
        greeted = self.caller is not None or self._queue.is_busy  # frames that come meanwhile are queued
        if not greeted and not isinstance(frame, frames.HelloFrame):
            self._complain("hello_first", "the first frame must be hello")
            return
        match frame:
            case frames.PingFrame() if self.caller is not None:
                self._send(frames.one(frames.PongFrame(heads=self._cursors)))
            case frames.AckFrame() if self.caller is not None:
                self._note_ack(frame)
            case frames.HelloFrame() if greeted:
                self._complain("hello_again", "hello was said already: open a new connection")
            case _:
                self._queue.put(frame)

    async def _answer(self, frame: frames.FromClient) -> None:
        if self.is_over:
            return
        try:
            await self._do(frame)
        except LedgerError as failure:
            log.warning("frame_not_answered", error=str(failure))
            self._excuse(frame, failure)
        except Exception as bug:  # noqa: BLE001  # the frames after it must be answered
            asyncio.get_running_loop().call_exception_handler({"message": "a frame failed", "exception": bug})
            self._excuse(frame, bug)

    def _excuse(self, frame: frames.FromClient, failure: Exception) -> None:
        if not isinstance(frame, frames.HelloFrame):
            self._send(frames.one(live_commands.error_frame(frame, failure)))
        elif not self.is_over:
            self.close(COME_BACK, "not available: come back")

    async def _do(self, frame: frames.FromClient) -> None:
        match frame:
            case frames.HelloFrame():
                await self._hello(frame)
            case frames.SendFrame():
                self._send(frames.one(await live_commands.post(frame, self._require_caller(), self._gateway.world)))
            case frames.ReadFrame():
                if wrong := await live_commands.read(frame, self._require_caller(), self._gateway.world):
                    self._send(frames.one(wrong))
            case frames.TypingFrame():
                await self._type(frame)
            case frames.AckFrame():
                self._note_ack(frame)
            case frames.PingFrame():
                self._send(frames.one(frames.PongFrame(heads=self._cursors)))
            case _:
                assert_never(frame)

    # Hello, catching up, live

    async def _hello(self, hello: frames.HelloFrame) -> None:
        if not devices.is_device_id(hello.device_id):
            self.close(FORBIDDEN, "device_id must have 1 to 64 printable characters and no space")
            return
        token = hello.token or cookies.token_of_handshake(self._link.caller, self._gateway.world)
        caller = await access.caller(token, self._gateway.world) if token else None
        if caller is None:
            self.close(NOT_KNOWN, "this token is unknown or ended")
        elif caller.user_id is None:
            self.close(FORBIDDEN, "a key is nobody: say hello with a user's token")
        elif not self._gateway.enter(self, caller.user_id, DeviceId(hello.device_id), token):
            self.close(FORBIDDEN, "too many connections of one person")
        else:
            await self._begin(caller, caller.user_id, hello)

    async def _begin(self, caller: Caller, user: UserId, hello: frames.HelloFrame) -> None:
        self._gateway.publish_presence(self, caller)
        greeting = DeviceHello(device_id=DeviceId(hello.device_id), epoch=hello.epoch, cursors=hello.cursors)
        begun = await devices.begin(caller.org_id, user, greeting, self._gateway.world)
        self._move(SessionMove.WELCOME)
        self._cursors = dict(begun.cursors)
        for feed in begun.cursors:
            self._gateway.tails.follow(feed, begun.heads[feed], self)
        self.caller, self.last_frame_at = caller, self._gateway.world.clock.now()
        self.began = (begun.device.seen_at, begun.device.epoch)
        for frame in frames.welcome_frames(begun, self._gateway.heartbeat_ms):
            self._send(frames.one(frame))
        await self._catch_up_or_go()

    async def _catch_up(self) -> None:
        """Read pages until the last page and the buffered items leave no gap."""
        while not self.is_over:
            must, self._next_round = self._next_round, NextRound.NOTHING
            if must is NextRound.FOLLOW and self.caller is not None and self.caller.user_id is not None:
                await self._follow_anew(self.caller, self.caller.user_id)
            page = await devices.page(self._cursors, CATCH_UP_PAGE, self._gateway.world)
            await self._send_page(page.items)
            if page.stuck and not page.full:
                raise HistoryUnavailable("the next item is only in the history store, which does not answer")
            if not page.full and self._merge_what_came():
                return

    async def _send_page(self, found: Sequence[LoadedItem]) -> None:
        """The user's own feed first: it names the other feeds."""
        pages = frames.pages_by_feed(found)
        for feed in sorted(pages, reverse=True):
            for portion in frames.portions(pages[feed]):
                if self.is_over or feed not in self._cursors:
                    break
                if not self._advance(feed, portion, ()):
                    self.close(COME_BACK, "what you have not seen is kept no longer: come back, and read anew")
                await self._drained()

    def _merge_what_came(self) -> bool:
        """True when the device is live then; without an await in between, so that no item can be missed."""
        kept, self._kept = self._kept or {}, None
        whole = all(self._advance(feed, (), items) for feed, items in kept.items() if feed in self._cursors)
        behind = any(self._gateway.tails.last(feed) > cursor for feed, cursor in self._cursors.items())
        if not whole or behind or self._next_round is not NextRound.NOTHING:
            return False
        if self._move(SessionMove.CATCH_UP) and self.caller is not None:
            self.presence = PresenceState.ONLINE
            self._send(frames.one(frames.LiveFrame(heads=self._cursors)))
            self._gateway.publish_presence(self, self.caller)
        return True

    def _advance(self, feed: FeedName, page: Sequence[NumberedFrame], kept: Sequence[NumberedFrame]) -> bool:
        """Send the items that follow the cursor; False when there is a gap."""
        merged = catchup.merge(self._cursors[feed], page, kept)
        if merged.items:
            self._give(feed, merged.items)
        return not merged.gap

    def _give(self, feed: FeedName, items: Sequence[NumberedFrame]) -> None:
        """A user who left a group gets no later item of it."""
        user = self.caller.user_id if self.caller else None
        last = next((n for n, each in enumerate(items, 1) if frames.ends(feed, each.change, user)), None)
        mine = items[:last]
        self._cursors[feed] = mine[-1].seq
        self._send(Bundle(each.frame for each in mine))
        self._follow_changes(feed, user, mine, left=last is not None)

    async def _drained(self) -> None:
        """Wait for a slow reader; one that reads nothing is closed by `_send` or for its silence."""
        while self._link.waiting > MOST_WAITING // 2 and not self.is_over:
            await self._gateway.world.clock.sleep(seconds(0.02))

    def _follow_changes(
        self, feed: FeedName, user: UserId | None, items: Sequence[NumberedFrame], *, left: bool
    ) -> None:
        """After the user joined or left a large group, the list of feeds is read again."""
        if left:
            self._leave(feed)
        if feed == f"user:{user}" and any(frames.changes_feeds(each.change, user) for each in items):
            self._next_round = NextRound.FOLLOW
            self._catch_up_again()

    def _leave(self, feed: FeedName) -> None:
        self._gateway.tails.leave(feed, self)
        del self._cursors[feed]

    async def _follow_anew(self, caller: Caller, user: UserId) -> None:
        """Follow the user's current feeds, each from where the user joined it."""
        found = await devices.followed_feeds(caller.org_id, user, self._gateway.world)
        since = {each.feed: each.since for each in found}
        for feed in [feed for feed in self._cursors if feed not in since]:
            self._leave(feed)
        for feed, after in since.items():
            if self._cursors.get(feed, -1) < after and not self.is_over:
                self._cursors[feed] = after
                self._gateway.tails.follow(feed, after, self)

    def _catch_up_again(self) -> None:
        """Read what is missing without a new hello; then the device is live again."""
        self._next_round = max(self._next_round, NextRound.READ)
        if self._move(SessionMove.FALL_BEHIND):
            self._gateway.keep(asyncio.ensure_future(self._catch_up_or_go()))

    async def _catch_up_or_go(self) -> None:
        """Close a device that cannot catch up, so that it reconnects instead of waiting for ever."""
        try:
            await self._catch_up()
        except HistoryUnavailable:
            self._gateway.keep(asyncio.ensure_future(self._catch_up_later()))
        except LedgerError as failure:
            log.warning("device_not_caught_up", error=str(failure))
            self.close(COME_BACK, "not available: come back")
        except BaseException:
            self.close(COME_BACK, "not available: come back")
            raise

    async def _catch_up_later(self) -> None:
        """The history store is unreachable: try again later; newer items are buffered meanwhile."""
        await self._gateway.world.clock.sleep(RETRY_HISTORY_EVERY)
        await self._catch_up_or_go()

    # Frames of the user

    async def _type(self, frame: frames.TypingFrame) -> None:
        now, typed = self._gateway.world.clock.now(), self._typed or {}
        if now - typed.get(frame.conversation_id, 0) < TYPING_EVERY:
            return
        where = live_commands.conversation_of(frame.conversation_id)
        feeds = await inbox.audience(self._require_caller(), where, self._gateway.world) if where else []
        if not feeds:
            self._complain("not_found", "there is no such conversation")
            return
        self._typed = {name: at for name, at in typed.items() if now - at < TYPING_EVERY} | {frame.conversation_id: now}
        self._gateway.broadcast_typing(self._require_caller(), str(where), feeds)

    def _note_ack(self, ack: frames.AckFrame) -> None:
        feed = FeedName(ack.feed)
        if feed in self._cursors and ack.seq <= self._cursors[feed]:
            self._acked = self._acked or {}
            self._acked[feed] = max(ack.seq, self._acked.get(feed, 0))

    def _require_caller(self) -> Caller:
        if self.caller is None:
            raise RuntimeError("a frame was handled before hello")
        return self.caller

"""One device on a live line: it says hello, catches up, goes live, and says what its person does.

Nothing is lost between page and stream: from the moment that a feed is followed, what it gets is kept here until the
pages have reached it; then both are merged and the device is live, without an await in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, assert_never

import msgspec
import structlog

from waypost.flow import admit, devices, inbox
from waypost.flow.devices import Greeting
from waypost.http import cookies, deeds, frames
from waypost.http.frame_queue import FrameQueue
from waypost.http.frames import News, Numbered
from waypost.model.account import Caller
from waypost.model.chat import DeviceId, FeedName, Told
from waypost.model.ids import UserId
from waypost.model.policy import RequestRate
from waypost.model.time import Instant, Span, seconds
from waypost.ports.failure import LedgerError, LogAway
from waypost.ports.link import Bundle, Link
from waypost.rules import catchup
from waypost.rules.rate import TooSoon, draw

if TYPE_CHECKING:
    from waypost.http.gateway import Gateway

log = structlog.get_logger("live")

COME_BACK, GOING_AWAY, SLOW = 4000, 4001, 4008
NOT_KNOWN, FORBIDDEN, REPLACED = 4401, 4403, 4409
RATE = RequestRate(per_second=50, burst=200)
"""Frames that one connection may send."""
MOST_WAITING = 1024 * 1024
"""Bytes that the network has not taken; a device this slow comes back later, and loses nothing."""
CATCH_UP_PAGE = 200
TYPING_EVERY: Span = seconds(2)
MOST_KEPT = 1000
"""Items that are kept while pages are read; beyond, they are read as well."""

LOOK_FOR_LOG_EVERY: Span = seconds(1)

NEVER = (Instant(0), "")
"""No hello of any epoch."""


class Session:
    """The visitor of one link."""

    __slots__ = (
        "_acked",
        "_again",
        "_answered",
        "_bucket",
        "_cursors",
        "_gateway",
        "_kept",
        "_link",
        "_live",
        "_moved",
        "_over",
        "_queue",
        "_typed",
        "began",
        "caller",
        "device",
        "heard_at",
        "newer",
        "seen_at",
    )

    def __init__(self, link: Link, gateway: Gateway) -> None:
        self._link = link
        self._gateway = gateway
        self._queue = FrameQueue(link, self._answer)
        self._cursors: dict[FeedName, int] = {}
        self._kept: dict[FeedName, list[Numbered]] | None = None
        self._acked: dict[FeedName, int] | None = None
        self._typed: dict[str, Instant] | None = None
        self._live = self._moved = self._over = self._again = False
        self._bucket = Instant(0)
        self.caller: Caller | None = None
        self.device = DeviceId("")
        self.heard_at = self.seen_at = gateway.world.clock.now()
        self.began = self.newer = NEVER
        self._answered = False

    # What the link calls

    def heard(self, text: bytes) -> None:
        if self._over:
            return
        now = self._gateway.world.clock.now()
        self.heard_at = now if self.caller else self.heard_at  # who says anything but hello is silent
        drawn = draw(self._bucket, RATE, now)
        if isinstance(drawn, TooSoon):
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
        """A line that broke while hello was stored answers no welcome: it must not end the device's next one."""
        if self.began is not NEVER and not self._answered:
            self._answered = True
            self._gateway.answered(self)

    def gone(self) -> None:
        self._over = True
        for feed in self._cursors:
            self._gateway.tails.leave(feed, self)
        self._queue.stop()
        self._gateway.leave(self)

    # What the gateway and the tails call

    def take(self, feed: FeedName, last: int, news: News) -> None:
        """Handed to every follower of the feed: the usual case is one comparison and one write."""
        if self._kept is not None:
            self._keep(feed, news)
            return
        cursor = self._cursors[feed]
        if cursor == news.first - 1 and not news.changes:
            self._cursors[feed] = last
            self._send(news.bundle)
        elif cursor < last and not self._advance(feed, news.items, ()):
            self._catch_up_again()

    def _keep(self, feed: FeedName, news: News) -> None:
        kept = self._kept.setdefault(feed, []) if self._kept is not None else []
        if len(kept) < MOST_KEPT:
            kept.extend(news.items)

    def close(self, code: int, reason: str) -> None:
        self._over = True
        self._gateway.world.meters.sent_away(code)
        self._link.close(code, reason)

    def tell(self, bundle: Bundle) -> None:
        """Something that is lost if it does not get there: who types, who is here."""
        if self._live:
            self._send(bundle)

    def take_acks(self) -> Mapping[FeedName, int]:
        acked, self._acked = self._acked, None
        return acked or {}

    @property
    def is_live(self) -> bool:
        return self._live

    @property
    def waits_for_welcome(self) -> bool:
        """Hello was said: whoever is slow now, it is not the client."""
        return self.caller is None and self._queue.is_busy

    @property
    def is_over(self) -> bool:
        return self._over

    # Within

    def _send(self, bundle: Bundle) -> None:
        """What waits is looked at before: a single large bundle is nobody's fault."""
        if self._link.waiting > MOST_WAITING and not self._over:
            self.close(SLOW, "you read too slowly: come back, nothing is lost")
        self._link.send(bundle)

    def _complain(self, code: str, detail: str, *, retryable: bool = False, about: str | None = None) -> None:
        self._send(frames.one(frames.Error(code=code, retryable=retryable, detail=detail, client_message_id=about)))

    def _dispatch(self, frame: frames.FromClient) -> None:
        greeted = self.caller is not None or self._queue.is_busy  # what comes while it is answered, waits
        if not greeted and not isinstance(frame, frames.Hello):
            self._complain("hello_first", "the first frame must be hello")
            return
        match frame:
            case frames.Ping() if self.caller is not None:
                self._send(frames.one(frames.Pong(heads=self._cursors)))
            case frames.Ack() if self.caller is not None:
                self._note_ack(frame)
            case frames.Hello() if greeted:
                self._complain("hello_again", "hello was said already: open a new connection")
            case _:
                self._queue.put(frame)

    async def _answer(self, frame: frames.FromClient) -> None:
        if self._over:
            return
        try:
            await self._do(frame)
        except LedgerError as failure:
            log.warning("frame_not_answered", error=str(failure))
            self._excuse(frame, failure)
        except Exception as bug:  # noqa: BLE001  # whatever it is, the frames behind it are answered
            asyncio.get_running_loop().call_exception_handler({"message": "a frame failed", "exception": bug})
            self._excuse(frame, bug)

    def _excuse(self, frame: frames.FromClient, failure: Exception) -> None:
        if not isinstance(frame, frames.Hello):
            self._send(frames.one(deeds.failed(frame, failure)))
        elif not self._over:
            self.close(COME_BACK, "not available: come back")

    async def _do(self, frame: frames.FromClient) -> None:
        match frame:
            case frames.Hello():
                await self._hello(frame)
            case frames.Send():
                self._send(frames.one(await deeds.post(frame, self._somebody(), self._gateway.world)))
            case frames.Read():
                if wrong := await deeds.read(frame, self._somebody(), self._gateway.world):
                    self._send(frames.one(wrong))
            case frames.Typing():
                await self._type(frame)
            case frames.Ack():
                self._note_ack(frame)
            case frames.Ping():
                self._send(frames.one(frames.Pong(heads=self._cursors)))
            case _:
                assert_never(frame)

    # Hello, catching up, live

    async def _hello(self, hello: frames.Hello) -> None:
        if not devices.is_device_id(hello.device_id):
            self.close(FORBIDDEN, "device_id must have 1 to 64 printable characters and no space")
            return
        token = hello.token or cookies.token_of_handshake(self._link.caller, self._gateway.world)
        caller = await admit.caller(token, self._gateway.world) if token else None
        if caller is None:
            self.close(NOT_KNOWN, "this token is unknown or ended")
        elif caller.user_id is None:
            self.close(FORBIDDEN, "a key is nobody: say hello with a user's token")
        elif not self._gateway.enter(self, caller.user_id, DeviceId(hello.device_id), token):
            self.close(FORBIDDEN, "too many connections of one person")
        else:
            await self._begin(caller, caller.user_id, hello)

    async def _begin(self, caller: Caller, user: UserId, hello: frames.Hello) -> None:
        self._gateway.say_where(self, caller)
        greeting = Greeting(device_id=DeviceId(hello.device_id), epoch=hello.epoch, cursors=hello.cursors)
        begun = await devices.begin(caller.org_id, user, greeting, self._gateway.world)
        self._kept = {}
        self._cursors = dict(begun.cursors)
        for feed in begun.cursors:
            self._gateway.tails.follow(feed, begun.heads[feed], self)
        self.caller, self.heard_at = caller, self._gateway.world.clock.now()
        self.began = (begun.device.seen_at, begun.device.epoch)
        for frame in frames.welcomes(begun, self._gateway.heartbeat_ms):
            self._send(frames.one(frame))
        await self._catch_up_or_go()

    async def _catch_up(self) -> None:
        """Page by page from the Ledger, until a page and what came meanwhile leave nothing out."""
        while not self._over:
            self._again = False
            if self._moved and self.caller is not None and self.caller.user_id is not None:
                await self._follow_anew(self.caller, self.caller.user_id)
            page = await devices.page(self._cursors, CATCH_UP_PAGE, self._gateway.world)
            await self._send_page(page.told)
            if page.stuck and not page.full:
                raise LogAway("what comes next is only in the Log, which does not answer")
            if not page.full and self._merge_what_came():
                return

    async def _send_page(self, found: Sequence[Told]) -> None:
        """A person's own feed first: it tells what else there is."""
        pages: dict[FeedName, list[Numbered]] = {}
        for told in found:
            pages.setdefault(FeedName(told.item.feed), []).append(frames.numbered(told))
        for feed in sorted(pages, reverse=True):
            for portion in frames.portions(pages[feed]):
                if self._over or feed not in self._cursors:
                    break
                if not self._advance(feed, portion, ()):
                    self.close(COME_BACK, "what you have not seen is kept no longer: come back, and read anew")
                await self._drained()

    def _merge_what_came(self) -> bool:
        """True when that makes the device live; no await from here to there."""
        kept, self._kept = self._kept or {}, {}
        whole = all(self._advance(feed, (), items) for feed, items in kept.items() if feed in self._cursors)
        behind = any(self._gateway.tails.last(feed) > cursor for feed, cursor in self._cursors.items())
        if not whole or behind or self._again or self._moved:
            return False
        self._kept = None
        if not self._over and self.caller is not None:
            self._live = True
            self._send(frames.one(frames.Live(heads=self._cursors)))
            self._gateway.say_where(self, self.caller)
        return True

    def _advance(self, feed: FeedName, page: Sequence[Numbered], kept: Sequence[Numbered]) -> bool:
        """Send what follows; False when something between is missing, and must be read."""
        merged = catchup.merge(self._cursors[feed], page, kept)
        if merged.items:
            self._give(feed, merged.items)
        return not merged.gap

    def _give(self, feed: FeedName, items: Sequence[Numbered]) -> None:
        """Who left a group is given nothing of it that came later."""
        user = self.caller.user_id if self.caller else None
        last = next((n for n, each in enumerate(items, 1) if frames.ends(feed, each.change, user)), None)
        mine = items[:last]
        self._cursors[feed] = mine[-1].seq
        self._send(Bundle(each.frame for each in mine))
        self._follow_changes(feed, user, mine, left=last is not None)

    async def _drained(self) -> None:
        """A device that reads slowly is waited for; one that reads nothing is closed by `_send`, or by its silence."""
        while self._link.waiting > MOST_WAITING // 2 and not self._over:
            await self._gateway.world.clock.sleep(seconds(0.02))

    def _follow_changes(self, feed: FeedName, user: UserId | None, items: Sequence[Numbered], *, left: bool) -> None:
        """Large groups that the person joined or left: the Ledger knows what of that still holds."""
        if left:
            self._leave(feed)
        own = [each.change for each in items if each.change is not None and feed == f"user:{user}"]
        if any(change.joins is not None or user in change.leaves for change in own):
            self._moved = True
            self._catch_up_again()

    def _leave(self, feed: FeedName) -> None:
        self._gateway.tails.leave(feed, self)
        del self._cursors[feed]

    async def _follow_anew(self, caller: Caller, user: UserId) -> None:
        """What is the person's by now, each from where it became theirs."""
        self._moved = False
        found = await self._gateway.world.ledger.follows.feeds(caller.org_id, user)
        since = {each.feed: each.since for each in found}
        for feed in [feed for feed in self._cursors if feed not in since]:
            self._leave(feed)
        for feed, after in since.items():
            if self._cursors.get(feed, -1) < after and not self._over:
                self._cursors[feed] = after
                self._gateway.tails.follow(feed, after, self)

    def _catch_up_again(self) -> None:
        """Without saying hello anew: what is missing is read, then the device is live again."""
        self._again = True
        if self._kept is None:
            self._kept = {}
            self._gateway.keep(asyncio.ensure_future(self._catch_up_or_go()))

    async def _catch_up_or_go(self) -> None:
        """A device that cannot be shown everything is sent away, to come back: it would wait here for ever."""
        try:
            await self._catch_up()
        except LogAway:
            self._gateway.keep(asyncio.ensure_future(self._catch_up_later()))
        except LedgerError as failure:
            log.warning("device_not_caught_up", error=str(failure))
            self.close(COME_BACK, "not available: come back")
        except BaseException:
            self.close(COME_BACK, "not available: come back")
            raise

    async def _catch_up_later(self) -> None:
        """The Log is away: what is new comes all the same, and the rest when it is back."""
        await self._gateway.world.clock.sleep(LOOK_FOR_LOG_EVERY)
        await self._catch_up_or_go()

    # What a person does

    async def _type(self, frame: frames.Typing) -> None:
        now, typed = self._gateway.world.clock.now(), self._typed or {}
        if now - typed.get(frame.conversation_id, 0) < TYPING_EVERY:
            return
        where = deeds.conversation_of(frame.conversation_id)
        feeds = await inbox.audience(self._somebody(), where, self._gateway.world) if where else []
        if not feeds:
            self._complain("not_found", "there is no such conversation")
            return
        self._typed = {name: at for name, at in typed.items() if now - at < TYPING_EVERY} | {frame.conversation_id: now}
        self._gateway.somebody_types(self._somebody(), str(where), feeds)

    def _note_ack(self, ack: frames.Ack) -> None:
        feed = FeedName(ack.feed)
        if feed in self._cursors and ack.seq <= self._cursors[feed]:
            self._acked = self._acked or {}
            self._acked[feed] = max(ack.seq, self._acked.get(feed, 0))

    def _somebody(self) -> Caller:
        if self.caller is None:
            raise RuntimeError("nobody said hello")
        return self.caller

"""Staying connected: socket or long poll, catching up, live, and back again whatever happens (B1 to B6, B13 to B16)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import msgspec

from waypost.client.line import Line, NotOpened, open_line, socket_address
from waypost.client.nouns import Applied, Fetching, Heard, Json, Reset, State
from waypost.client.post import Posting
from waypost.client.rest import Answer, NoAnswer, Rest
from waypost.client.returning import (
    FORBIDDEN,
    NOT_AUTHENTICATED,
    ComeBack,
    Pauses,
    Stop,
    after_close,
    backoff,
    in_vain,
)
from waypost.client.situation import Situation, heard, now_ms
from waypost.client.stream import Stream, settles
from waypost.client.take import Taking
from waypost.client.timing import Timing

_BROKEN = 1006
_OURS = 4000
"""Close codes from here on are the server's own words."""
_USUAL_HEARTBEAT = 30_000.0
_NOT_LET_IN = {401: NOT_AUTHENTICATED, 403: FORBIDDEN}


class Address:
    """Who connects where."""

    def __init__(self, url: str, token: str, device_id: str) -> None:
        socket_address(url)  # a wrong one is told at once, not by a client that never connects
        self.url, self.device_id = url, device_id
        self._token = token

    async def open(self, timeout: float) -> Line:
        return await open_line(self.url, self._token, timeout / 1000)


class _Greeted(msgspec.Struct, frozen=True):
    line: Line
    welcome: Json


class _TurnedAway(Exception):
    """The server itself closed before its welcome."""

    def __init__(self, code: int) -> None:
        super().__init__(f"closed with {code}")
        self.code = code


class Following:
    def __init__(
        self,
        address: Address,
        rest: Rest,
        stream: Stream,
        taking: Taking,
        posting: Posting,
        situation: Situation,
        timing: Timing,
        dice: Callable[[], float],
    ) -> None:
        self._address, self._rest, self._stream = address, rest, stream
        self._taking, self._posting, self._situation = taking, posting, situation
        self._timing, self._dice = timing, dice
        self._pauses = Pauses(timing.backoff_base, timing.backoff_cap, timing.going_away)
        self._failures = 0
        self._last_word = 0.0
        self._gaps = asyncio.Event()
        self.on_applied: Callable[[Applied], None] = lambda _: None

    async def run(self) -> None:
        """Runs until an answer says not to come back."""
        while True:
            match await self._once():
                case Stop(code):
                    self._situation.become(State.STOPPED, code)
                    return
                case ComeBack(after, failed):
                    self._failures += failed
                    self._situation.become(State.WAITING)
                    await asyncio.sleep(after / 1000)

    async def _once(self) -> ComeBack | Stop:
        self._situation.become(State.CONNECTING)
        try:
            greeted: _Greeted | ComeBack | Stop = await self._greet()
        except NotOpened:
            greeted = await self._without_socket()
        except _TurnedAway as told:
            return self._closed(told.code)
        return self._closed(await self._talk(greeted)) if isinstance(greeted, _Greeted) else greeted

    def _closed(self, code: int = _BROKEN) -> ComeBack | Stop:
        return after_close(code, self._failures, self._dice(), self._pauses)

    # With a socket

    async def _greet(self) -> _Greeted:
        """A socket that is past its welcome; one that never gets there is no better than none."""
        line = await self._address.open(self._timing.open_timeout)
        try:
            await line.send({"type": "hello", "device_id": self._address.device_id, **self._stream.stand()})
            welcome = await self._welcome(line)
        except BaseException:
            line.drop()
            raise
        if welcome is not None:
            return _Greeted(line, welcome)
        line.drop()
        raise _TurnedAway(line.code) if line.code >= _OURS else NotOpened("there was no welcome")

    async def _welcome(self, line: Line) -> Json | None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timing.open_timeout / 1000):
                while (frame := await line.hear()) is not None:
                    if frame.get("type") == "welcome":
                        return frame
        return None

    async def _talk(self, greeted: _Greeted) -> int:
        """From welcome to the end; the close code."""
        line = greeted.line
        beating = asyncio.create_task(self._beat(line, greeted.welcome))
        try:
            await self._apply(self._stream.welcome(greeted.welcome))
            self._situation.line = line
            self._situation.become(State.CATCHING_UP)
            while (frame := await line.hear()) is not None:
                await self._hear(frame)
                await self._taking.room()
            return line.code
        finally:
            self._situation.line = None
            beating.cancel()
            line.drop()
            self._posting.socket_broke()

    async def _beat(self, line: Line, welcome: Json) -> None:
        told = welcome.get("heartbeat_ms")
        every = self._timing.heartbeat or (told if isinstance(told, int) and told > 0 else _USUAL_HEARTBEAT)
        self._last_word = now_ms()
        while True:
            await line.send({"type": "ping"})
            await asyncio.sleep(every / 1000)
            if now_ms() - self._last_word > 2 * every and self._taking.has_room:
                line.drop()
                return

    async def _hear(self, frame: Json) -> None:
        self._last_word = now_ms()
        match frame.get("type"):
            case "item":
                await self._apply(self._stream.item(frame, now_ms()))
            case "ack" | "error":
                await self._posting.told(frame)
            case "live":
                self._failures = 0
                await self._apply(self._stream.live(frame, now_ms()))
                self._situation.become(State.LIVE)
            case "pong" if self._situation.state is State.LIVE:
                self._stream.pong(frame, now_ms())
                self._gaps.set()
            case "resync_required":
                await self._apply(self._stream.resync(frame))
            case "typing" | "presence":
                self._situation.tell(Heard(frame))
            case _:
                pass  # of a newer server

    async def _apply(self, applied: list[Applied]) -> None:
        """Handed over without an await between, so that two ways of hearing never mix their order."""
        self._taking.put(applied)
        self._gaps.set()
        for each in applied:
            self.on_applied(each)
            own = None if isinstance(each, Reset) else settles(each, self._stream.me)
            if own is not None:
                await self._posting.shown(*own)

    # Without one

    async def _without_socket(self) -> _Greeted | ComeBack | Stop:
        """The network lets no upgrade through, or nothing at all."""
        try:
            answer = await self._sync(0)
        except NoAnswer:
            return self._closed()
        ended = await self._synced(answer)
        return await self._poll() if ended is None else ended

    async def _poll(self) -> _Greeted | ComeBack | Stop:
        self._situation.become(State.POLLING)
        opening = asyncio.create_task(self._open_again())
        asking: asyncio.Task[Answer] | None = None
        try:
            while not opening.done():
                asked = now_ms()
                asking = asyncio.create_task(self._sync(self._timing.poll_wait / 1000))
                await asyncio.wait({opening, asking}, return_when=asyncio.FIRST_COMPLETED)
                if opening.done():
                    break
                pause = self._pause_after(asking, now_ms() - asked)
                ended = self._closed() if isinstance(asking.exception(), NoAnswer) else await self._synced(await asking)
                if ended is not None:
                    await _let_go(opening)
                    return ended
                await self._taking.room()
                await asyncio.wait({opening}, timeout=pause / 1000)
            return await opening
        finally:
            opening.cancel()
            if asking is not None:
                asking.cancel()
                asking.add_done_callback(_heed)

    def _pause_after(self, asked: asyncio.Task[Answer], waited: float) -> float:
        """Milliseconds until the next poll: none, unless this one was in vain."""
        if asked.exception() is not None:
            return 0
        news = bool(asked.result().fields.get("items"))
        if not in_vain(news, waited, self._timing.poll_wait):
            return 0
        return backoff(0, self._dice(), self._pauses.base, self._pauses.cap)

    async def _open_again(self) -> _Greeted | Stop:
        failures = 0
        while True:
            pause = backoff(failures, self._dice(), self._timing.upgrade_base, self._timing.upgrade_cap)
            await asyncio.sleep(pause / 1000)
            try:
                return await self._greet()
            except NotOpened:
                failures += 1
            except _TurnedAway as told:
                failures += 1
                verdict = self._closed(told.code)
                if isinstance(verdict, Stop):
                    return verdict

    async def _sync(self, wait: float) -> Answer:
        return await self._rest.sync(self._address.device_id, self._stream.stand(), wait)

    async def _synced(self, answer: Answer) -> ComeBack | Stop | None:
        """None: it was an answer."""
        if answer.status in _NOT_LET_IN:
            return Stop(_NOT_LET_IN[answer.status])
        if answer.status != 200 or "heads" not in answer.fields:
            return self._closed()
        self._failures = 0
        await self._apply(self._stream.synced(answer.fields, now_ms()))
        return None

    # Gaps

    async def fill_gaps(self) -> None:
        """Runs as long as the client: a gap that is old enough is fetched (B8)."""
        while True:
            due = self._stream.buffer.due
            await heard(self._gaps, None if due is None else due - now_ms())
            feeds = self._stream.buffer.tick(now_ms())
            if feeds and self._situation.line is not None:
                self._situation.tell(Fetching(tuple(feeds)))
                await self._fetch()

    async def _fetch(self) -> None:
        with suppress(NoAnswer):
            answer = await self._sync(0)
            if answer.status == 200:
                await self._apply(self._stream.synced(answer.fields, now_ms()))
            elif answer.status == 401:
                self._situation.become(State.STOPPED, NOT_AUTHENTICATED)


def _heed(asked: asyncio.Task[Answer]) -> None:
    """Nobody waits for it any more: how it failed is nobody's business either."""
    if not asked.cancelled():
        asked.exception()


async def _let_go(opening: asyncio.Task[_Greeted | Stop]) -> None:
    """A socket that opened at the same moment is not left behind."""
    opening.cancel()
    with suppress(asyncio.CancelledError):
        opened = await opening
        if isinstance(opened, _Greeted):
            opened.line.drop()

"""Keeps the client connected by socket or long poll, and reconnects (B1 to B6, B13 to B16)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import msgspec

from waypost.client.connection_state import ConnectionState, now_ms, wait_for_signal
from waypost.client.delivery import ItemDelivery
from waypost.client.post import MessageSender
from waypost.client.reconnect import (
    FORBIDDEN,
    NOT_AUTHENTICATED,
    Reconnect,
    ReconnectDelays,
    StopReconnecting,
    after_close,
    backoff,
    is_empty_poll,
)
from waypost.client.rest import NoResponse, RestClient, RestResponse
from waypost.client.stream import Stream, settles
from waypost.client.timing import Timing
from waypost.client.types import Applied, EphemeralEvent, Fetching, Json, Reset, State
from waypost.client.websocket import NotOpened, WebSocketConnection, open_websocket, socket_address

_BROKEN = 1006
_OURS = 4000
"""Close codes from here on are sent by our server."""
_USUAL_HEARTBEAT = 30_000.0
_ACCESS_DENIED = {401: NOT_AUTHENTICATED, 403: FORBIDDEN}


class ConnectionTarget:
    """The server, the device and its token."""

    def __init__(self, url: str, token: str, device_id: str) -> None:
        socket_address(url)  # fail at once on an invalid URL
        self.url, self.device_id = url, device_id
        self._token = token

    async def open(self, timeout: float) -> WebSocketConnection:
        return await open_websocket(self.url, self._token, timeout / 1000)


class _Greeted(msgspec.Struct, frozen=True):
    socket: WebSocketConnection
    welcome: Json


class _Refused(Exception):
    """The server closed the socket before its welcome."""

    def __init__(self, code: int) -> None:
        super().__init__(f"closed with {code}")
        self.code = code


class ConnectionLoop:
    def __init__(
        self,
        target: ConnectionTarget,
        rest: RestClient,
        stream: Stream,
        delivery: ItemDelivery,
        sender: MessageSender,
        connection: ConnectionState,
        timing: Timing,
        random: Callable[[], float],
    ) -> None:
        self._target, self._rest, self._stream = target, rest, stream
        self._delivery, self._sender, self._connection = delivery, sender, connection
        self._timing, self._random = timing, random
        self._delays = ReconnectDelays(timing.backoff_base, timing.backoff_cap, timing.going_away)
        self._failures = 0
        self._last_frame_at = 0.0
        self._gaps = asyncio.Event()
        self.on_applied: Callable[[Applied], None] = lambda _: None

    async def run(self) -> None:
        """Runs until the server ends the session."""
        while True:
            match await self._connect():
                case StopReconnecting(code):
                    self._connection.become(State.STOPPED, code)
                    return
                case Reconnect(after, failed):
                    self._failures += failed
                    self._connection.become(State.WAITING)
                    await asyncio.sleep(after / 1000)

    async def _connect(self) -> Reconnect | StopReconnecting:
        self._connection.become(State.CONNECTING)
        try:
            greeted: _Greeted | Reconnect | StopReconnecting = await self._greet()
        except NotOpened:
            greeted = await self._without_socket()
        except _Refused as refused:
            return self._closed(refused.code)
        return self._closed(await self._run_socket(greeted)) if isinstance(greeted, _Greeted) else greeted

    def _closed(self, code: int = _BROKEN) -> Reconnect | StopReconnecting:
        return after_close(code, self._failures, self._random(), self._delays)

    # With a socket

    async def _greet(self) -> _Greeted:
        """Opens a socket and waits for its welcome; raises NotOpened without one."""
        socket = await self._target.open(self._timing.open_timeout)
        try:
            await socket.send({"type": "hello", "device_id": self._target.device_id, **self._stream.resume_point()})
            welcome = await self._welcome(socket)
        except BaseException:
            socket.drop()
            raise
        if welcome is not None:
            return _Greeted(socket, welcome)
        socket.drop()
        raise _Refused(socket.code) if socket.code >= _OURS else NotOpened("the server sent no welcome in time")

    async def _welcome(self, socket: WebSocketConnection) -> Json | None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timing.open_timeout / 1000):
                while (frame := await socket.receive()) is not None:
                    if frame.get("type") == "welcome":
                        return frame
        return None

    async def _run_socket(self, greeted: _Greeted) -> int:
        """Handles the frames of a connection until it ends; returns the close code."""
        socket = greeted.socket
        heartbeat = asyncio.create_task(self._heartbeat(socket, greeted.welcome))
        try:
            await self._apply(self._stream.welcome(greeted.welcome))
            self._connection.socket = socket
            self._connection.become(State.CATCHING_UP)
            while (frame := await socket.receive()) is not None:
                await self._handle(frame)
                await self._delivery.room()
            return socket.code
        finally:
            self._connection.socket = None
            heartbeat.cancel()
            socket.drop()
            self._sender.socket_broke()

    async def _heartbeat(self, socket: WebSocketConnection, welcome: Json) -> None:
        given = welcome.get("heartbeat_ms")
        every = self._timing.heartbeat or (given if isinstance(given, int) and given > 0 else _USUAL_HEARTBEAT)
        self._last_frame_at = now_ms()
        while True:
            await socket.send({"type": "ping"})
            await asyncio.sleep(every / 1000)
            if now_ms() - self._last_frame_at > 2 * every and self._delivery.has_room:
                socket.drop()
                return

    async def _handle(self, frame: Json) -> None:
        self._last_frame_at = now_ms()
        match frame.get("type"):
            case "item":
                await self._apply(self._stream.item(frame, now_ms()))
            case "ack" | "error":
                await self._sender.on_frame(frame)
            case "live":
                self._failures = 0
                await self._apply(self._stream.live(frame, now_ms()))
                self._connection.become(State.LIVE)
            case "pong" if self._connection.state is State.LIVE:
                self._stream.pong(frame, now_ms())
                self._gaps.set()
            case "resync_required":
                await self._apply(self._stream.resync(frame))
            case "typing" | "presence":
                self._connection.emit(EphemeralEvent(frame))
            case _:
                pass  # from a newer server

    async def _apply(self, applied: list[Applied]) -> None:
        """Queues the items without an await in between, so that socket and sync keep their order."""
        self._delivery.put(applied)
        self._gaps.set()
        for each in applied:
            self.on_applied(each)
            own = None if isinstance(each, Reset) else settles(each, self._stream.me)
            if own is not None:
                await self._sender.on_item(*own)

    # Without one

    async def _without_socket(self) -> _Greeted | Reconnect | StopReconnecting:
        """The network blocks WebSocket upgrades, or everything."""
        try:
            answer = await self._sync(0)
        except NoResponse:
            return self._closed()
        ended = await self._apply_sync(answer)
        return await self._poll() if ended is None else ended

    async def _poll(self) -> _Greeted | Reconnect | StopReconnecting:
        self._connection.become(State.POLLING)
        opening = asyncio.create_task(self._open_again())
        asking: asyncio.Task[RestResponse] | None = None
        try:
            while not opening.done():
                asked = now_ms()
                asking = asyncio.create_task(self._sync(self._timing.poll_wait / 1000))
                await asyncio.wait({opening, asking}, return_when=asyncio.FIRST_COMPLETED)
                if opening.done():
                    break
                pause = self._pause_after(asking, now_ms() - asked)
                ended = (
                    self._closed()
                    if isinstance(asking.exception(), NoResponse)
                    else await self._apply_sync(await asking)
                )
                if ended is not None:
                    await _close_late_socket(opening)
                    return ended
                await self._delivery.room()
                await asyncio.wait({opening}, timeout=pause / 1000)
            return await opening
        finally:
            opening.cancel()
            if asking is not None:
                asking.cancel()
                asking.add_done_callback(_retrieve_exception)

    def _pause_after(self, asked: asyncio.Task[RestResponse], waited: float) -> float:
        """Milliseconds until the next poll: 0 unless this one returned nothing, too early."""
        if asked.exception() is not None:
            return 0
        news = bool(asked.result().fields.get("items"))
        if not is_empty_poll(news, waited, self._timing.poll_wait):
            return 0
        return backoff(0, self._random(), self._delays.base, self._delays.cap)

    async def _open_again(self) -> _Greeted | StopReconnecting:
        failures = 0
        while True:
            pause = backoff(failures, self._random(), self._timing.upgrade_base, self._timing.upgrade_cap)
            await asyncio.sleep(pause / 1000)
            try:
                return await self._greet()
            except NotOpened:
                failures += 1
            except _Refused as refused:
                failures += 1
                verdict = self._closed(refused.code)
                if isinstance(verdict, StopReconnecting):
                    return verdict

    async def _sync(self, wait: float) -> RestResponse:
        return await self._rest.sync(self._target.device_id, self._stream.resume_point(), wait)

    async def _apply_sync(self, answer: RestResponse) -> Reconnect | StopReconnecting | None:
        """None if the sync succeeded."""
        if answer.status in _ACCESS_DENIED:
            return StopReconnecting(_ACCESS_DENIED[answer.status])
        if answer.status != 200 or "heads" not in answer.fields:
            return self._closed()
        self._failures = 0
        await self._apply(self._stream.synced(answer.fields, now_ms()))
        return None

    # Gaps

    async def fill_gaps(self) -> None:
        """Runs as long as the client: fetches gaps that are old enough (B8)."""
        while True:
            due = self._stream.buffer.due
            await wait_for_signal(self._gaps, None if due is None else due - now_ms())
            feeds = self._stream.buffer.tick(now_ms())
            if feeds and self._connection.socket is not None:
                self._connection.emit(Fetching(tuple(feeds)))
                await self._fetch()

    async def _fetch(self) -> None:
        with suppress(NoResponse):
            answer = await self._sync(0)
            if answer.status == 200:
                await self._apply(self._stream.synced(answer.fields, now_ms()))
            elif answer.status == 401:
                self._connection.become(State.STOPPED, NOT_AUTHENTICATED)


def _retrieve_exception(asked: asyncio.Task[RestResponse]) -> None:
    """Marks the exception of an abandoned request as retrieved."""
    if not asked.cancelled():
        asked.exception()


async def _close_late_socket(opening: asyncio.Task[_Greeted | StopReconnecting]) -> None:
    """Closes a socket that opened at the same moment."""
    opening.cancel()
    with suppress(asyncio.CancelledError):
        opened = await opening
        if isinstance(opened, _Greeted):
            opened.socket.drop()

"""WebSockets under uvicorn: a bundle is framed once for all sockets and leaves each of them in one write."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from functools import partial
from typing import Any, cast

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from websockets.frames import CloseCode, Opcode
from websockets.frames import Frame as WireFrame
from websockets.http11 import Request
from websockets.protocol import Event, State
from websockets.server import ServerProtocol

from waypost.http.problems import Problem
from waypost.http.webhook_door import Receive, Scope, Send
from waypost.http.websocket_handshake import (
    FULL,
    Origins,
    ask_for_upgrade,
    caller_of,
    foreign,
    is_for_us,
    malformed,
    misplaced,
    refused,
    same_host,
)
from waypost.ports.link import Bundle, Caller, Frame, Visitor, Welcome

GOING_AWAY = 4001
LONGEST_REASON = 123
"""Bytes: a close frame has room for no more."""
PONGS_UNTIL = 64 * 1024
"""Bytes that wait; a client that reads nothing gets no answers to its pings either, so that they cannot pile up."""

AT_ONCE = 4096
"""Bytes read before the others get their turn: that many tiny frames take some milliseconds."""

_log = logging.getLogger("waypost.websocket")
_NOTHING: Iterator[Event] = iter(())
_log.setLevel(logging.ERROR)  # the library tells of every socket that opens and closes


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    frame: int = 64 * 1024
    """Bytes of one text, also in fragments; beyond: 1009."""
    connections: int = 50_000
    """Of this door; beyond: 503."""
    handshake: float = 10
    """Seconds from connecting to the end of the first request's head."""
    farewell: float = 5
    """Seconds that a client has to answer a close."""
    hurried_farewell: float = 2
    """The same while the server stops; less than it waits for connections."""


class Door:
    """Where the clients of one server come in by WebSocket."""

    def __init__(self, welcome: Welcome, origins: Origins | None = None, limits: Limits | None = None) -> None:
        self.welcome = welcome
        self.origins = origins or same_host()
        self.limits = limits or Limits()
        self.inside: set[Socket] = set()
        self.doorstep = partial(Doorstep, patience=self.limits.handshake)

    @property
    def is_full(self) -> bool:
        return len(self.inside) >= self.limits.connections

    def socket(self, config: Any, server_state: Any, app_state: Any) -> Socket:  # noqa: ARG002  # uvicorn's names
        return Socket(self, server_state.connections)

    def beside(self, app: Any) -> Any:
        """`app`, but who comes to the WebSocket's path without asking for one is told to."""

        async def edge(scope: Scope, receive: Receive, send: Send) -> None:
            if is_for_us(scope):
                await ask_for_upgrade(send)
            else:
                await app(scope, receive, send)

        return edge


class Doorstep(HttpToolsProtocol):
    """A connection before it is known what it wants: not for long, and with nothing left behind when it goes in."""

    def __init__(self, *args: Any, patience: float, **others: Any) -> None:
        super().__init__(*args, **others)
        self._patience = patience

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._knocking = self.loop.call_later(self._patience, transport.abort)

    def on_headers_complete(self) -> None:
        self._knocking.cancel()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """What is no request that could be read, a URL beyond 64 KiB among them: answered as every other error is."""
        problem = Problem(400, "unreadable_request", f"{msg} Nothing was done: mend the request, or its URL's length.")
        self.transport.write(refused(problem).serialize())
        self.transport.close()

    def handle_websocket_upgrade(self) -> None:
        super().handle_websocket_upgrade()
        self.parser = None  # type: ignore[assignment]  # a circle: twenty thousand would wait for the collector

    def connection_lost(self, exc: Exception | None) -> None:
        self._knocking.cancel()
        super().connection_lost(exc)


class Socket(asyncio.Protocol):
    """One client's WebSocket: the library reads and keeps the protocol's rules, data goes out as it is."""

    __slots__ = (
        "_closing",
        "_connections",
        "_deaf",
        "_door",
        "_lost",
        "_open",
        "_part",
        "_paused",
        "_scheduled",
        "_transport",
        "_unheard",
        "_unread",
        "_visitor",
        "_ws",
        "caller",
    )
    caller: Caller

    def __init__(self, door: Door, connections: set[Any]) -> None:
        self._door = door
        self._connections = connections
        self._ws = ServerProtocol(max_size=door.limits.frame, logger=_log)
        self._visitor: Visitor | None = None
        self._open = self._deaf = self._paused = self._scheduled = self._lost = False
        self._part: bytearray | None = None
        self._unheard: Iterator[Event] = _NOTHING
        self._unread = b""
        self._closing: asyncio.TimerHandle | None = None

    # What uvicorn and the loop call

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_protocol(self)  # before anything can fail, so that `connection_lost` comes here
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        if self._unread or self._paused:  # reading is stopped then; a transport may still have had some
            self._unread += data
        elif len(data) <= AT_ONCE:
            self._read(data)
        else:
            self._transport.pause_reading()
            self._read(data)
            self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # lost is lost
        self._connections.discard(self)
        self._door.inside.discard(self)
        self._open, self._deaf, self._lost = False, True, True
        if self._closing is not None:
            self._closing.cancel()
        visitor, self._visitor = self._visitor, None
        if visitor is not None:
            visitor.gone()

    def shutdown(self) -> None:
        """The server stops; whoever the visitor has not sent away by now is sent away here."""
        self.close(GOING_AWAY, "server going away")
        self._leave_within(self._door.limits.hurried_farewell)

    # What a visitor calls

    @property
    def waiting(self) -> int:
        return 0 if self._lost else self._transport.get_write_buffer_size()

    def send(self, bundle: Bundle) -> None:
        if self._open:
            self._transport.write(bundle.wire or joined(bundle))

    def pause(self) -> None:
        if self._open and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._paused:
            self._paused = False
            self._hear(self._unheard)
            self._go_on()

    def close(self, code: int, reason: str) -> None:
        if self._open:
            self._deaf = True
            self._ws.send_close(code, reason.encode()[:LONGEST_REASON].decode(errors="ignore"))
            self._reply()
            self.resume()  # the client's own close frame is to be read

    # Within

    def _read(self, data: bytes) -> None:
        if self._ws.eof_sent:
            return  # all is said; the client goes on until it has noticed
        self._unread = data[AT_ONCE:]
        self._ws.receive_data(data[:AT_ONCE])
        events = self._ws.events_received()
        if self._visitor is None:
            self._answer_handshake(events)
        else:
            self._reply()
            self._hear(iter(events))

    def _go_on(self) -> None:
        """With what had arrived, in the next turn of the loop; with the network when nothing of it is left."""
        if self._paused or self._lost:
            return
        if not self._unread:
            self._transport.resume_reading()
        elif not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._read_on)

    def _read_on(self) -> None:
        self._scheduled = False
        if not self._paused and not self._lost:
            data, self._unread = self._unread, b""
            self._read(data)
            self._go_on()

    def _answer_handshake(self, events: list[Event]) -> None:
        """Without an event, more of it is to come, or the library has refused what it could not read."""
        for request in events:
            if isinstance(request, Request) and self._let_in(request):
                self._door.inside.add(self)
                self.caller = caller_of(request, _address(self._transport))
                self._open = True
                self._reply()
                self._visitor = self._door.welcome(self)
                return
        if self._ws.eof_sent:
            self._reply()

    def _let_in(self, request: Request) -> bool:
        answer = self._ws.accept(request)
        problem = misplaced(request)
        if problem is None and answer.status_code != 101:
            problem = malformed(answer)
        problem = problem or foreign(request, self._door.origins)
        if problem is None and self._door.is_full:
            problem = FULL
        if problem is None:
            del answer.headers["Date"]
        self._ws.send_response(answer if problem is None else refused(problem))
        return problem is None

    def _reply(self) -> None:
        """Write what the protocol asks for: the handshake's answer, pongs, a close frame, the end."""
        writes, going_on = self._ws.data_to_send(), self._ws.state is State.OPEN
        self._open = self._open and going_on
        if writes and not (going_on and self._transport.get_write_buffer_size() > PONGS_UNTIL):
            self._transport.write(b"".join(writes))
        if going_on:
            return
        self._leave_within(self._door.limits.farewell)
        if self._ws.eof_sent and not self._transport.is_closing():
            self._end()

    def _end(self) -> None:
        """Half a close, where it can be: a full one with bytes unread would make the kernel drop our last words."""
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:
            self._transport.close()

    def _leave_within(self, seconds: float) -> None:
        """A client that reads nothing could keep a closing connection for ever."""
        if self._closing is None or seconds < self._door.limits.farewell:
            if self._closing is not None:
                self._closing.cancel()
            self._closing = asyncio.get_running_loop().call_later(seconds, self._transport.abort)

    def _hear(self, events: Iterator[Event]) -> None:
        """An iterator, so that to stop after each of thousands and go on costs no more than to hear them all."""
        self._unheard = _NOTHING
        for event in events:
            if self._deaf:
                return
            if isinstance(event, WireFrame):
                self._take(event)
            if self._paused:
                self._unheard = events
                return

    def _take(self, frame: WireFrame) -> None:
        if frame.opcode is Opcode.BINARY:
            self._fail(CloseCode.UNSUPPORTED_DATA, "text frames only")
        elif frame.opcode is Opcode.TEXT and frame.fin:
            self._pass_on(bytes(frame.data))
        elif frame.opcode is Opcode.TEXT or frame.opcode is Opcode.CONT:
            self._part = self._part if self._part is not None else bytearray()
            self._part += frame.data  # not a list: a million empty fragments weigh nothing here
            if frame.fin:
                whole, self._part = bytes(self._part), None
                self._pass_on(whole)

    def _fail(self, code: CloseCode, reason: str) -> None:
        """As the library does when a frame is wrong: no answer is waited for."""
        self._deaf = True
        self._ws.fail(code, reason)
        self._reply()

    def _pass_on(self, text: bytes) -> None:
        try:
            text.decode()
        except UnicodeDecodeError:
            self._fail(CloseCode.INVALID_DATA, "text frames are UTF-8")
            return
        if self._visitor is not None:
            self._visitor.heard(text)


def joined(bundle: Bundle) -> bytes:
    """Frames of a server are not masked: the same bytes serve every socket."""
    bundle.wire = b"".join([frame.wire or framed(frame) for frame in bundle.frames])
    return bundle.wire


def framed(frame: Frame) -> bytes:
    frame.wire = WireFrame(Opcode.TEXT, frame.text).serialize(mask=False)
    return frame.wire


def _address(transport: asyncio.Transport) -> str:
    """Of a Unix socket there is none."""
    name = transport.get_extra_info("peername")
    return str(name[0]) if isinstance(name, tuple) else ""

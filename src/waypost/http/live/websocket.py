"""WebSockets under uvicorn: a bundle is framed once for all sockets and written to each in one call."""

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

from waypost.http.edge.problems import Problem
from waypost.http.edge.webhook_endpoint import AsgiReceive, AsgiScope, AsgiSend
from waypost.http.live.websocket_handshake import (
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
from waypost.ports.live.live_connection import Bundle, ConnectionHandler, ConnectionHandlerFactory, Frame, HandshakeInfo

GOING_AWAY = 4001
LONGEST_REASON = 123
"""Bytes that fit into a close frame."""
PONGS_UNTIL = 64 * 1024
"""Unsent bytes beyond which pings are not answered, so that pongs cannot pile up for a client that reads nothing."""

AT_ONCE = 4096
"""Bytes read in one go; so many tiny frames take some milliseconds, then other connections run."""

_log = logging.getLogger("waypost.websocket")
_NOTHING: Iterator[Event] = iter(())
_log.setLevel(logging.ERROR)  # the library logs every socket that opens and closes


class WebSocketLimits(msgspec.Struct, frozen=True, kw_only=True):
    frame: int = 64 * 1024
    """Bytes of one text, also in fragments; a longer one is closed with 1009."""
    connections: int = 50_000
    """Connections of this server; beyond it, 503."""
    handshake: float = 10
    """Seconds until the first request's head must have arrived."""
    farewell: float = 5
    """Seconds for a client to answer a close."""
    hurried_farewell: float = 2
    """The same while the server stops; shorter than the server waits for connections."""


class WebSocketServer:
    """Accepts the WebSockets of one server."""

    def __init__(
        self, welcome: ConnectionHandlerFactory, origins: Origins | None = None, limits: WebSocketLimits | None = None
    ) -> None:
        self.welcome = welcome
        self.origins = origins or same_host()
        self.limits = limits or WebSocketLimits()
        self.inside: set[WebSocketProtocol] = set()
        self.upgrade_protocol = partial(UpgradeProtocol, patience=self.limits.handshake)

    @property
    def is_full(self) -> bool:
        return len(self.inside) >= self.limits.connections

    def socket(self, config: Any, server_state: Any, app_state: Any) -> WebSocketProtocol:  # noqa: ARG002  # uvicorn's names
        return WebSocketProtocol(self, server_state.connections)

    def beside(self, app: Any) -> Any:
        """`app`, with 426 for requests to the WebSocket's path without an upgrade."""

        async def edge(scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
            if is_for_us(scope):
                await ask_for_upgrade(send)
            else:
                await app(scope, receive, send)

        return edge


class UpgradeProtocol(HttpToolsProtocol):
    """A connection before its first request: limited in time, and released when it becomes a WebSocket."""

    def __init__(self, *args: Any, patience: float, **others: Any) -> None:
        super().__init__(*args, **others)
        self._patience = patience

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._handshake_timer = self.loop.call_later(self._patience, transport.abort)

    def on_headers_complete(self) -> None:
        self._handshake_timer.cancel()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """A request that cannot be parsed, such as a URL beyond 64 KiB, as problem+json."""
        problem = Problem(
            400, "unreadable_request", f"{msg} Nothing was done: correct the request, or shorten its URL."
        )
        self.transport.write(refused(problem).serialize())
        self.transport.close()

    def handle_websocket_upgrade(self) -> None:
        super().handle_websocket_upgrade()
        self.parser = None  # type: ignore[assignment]  # breaks a reference cycle: twenty thousand would wait for the garbage collector

    def connection_lost(self, exc: Exception | None) -> None:
        self._handshake_timer.cancel()
        super().connection_lost(exc)


class WebSocketProtocol(asyncio.Protocol):
    """One client's WebSocket: the library parses and checks what comes in; outgoing frames are written directly."""

    __slots__ = (
        "_closing",
        "_connections",
        "_handler",
        "_ignoring",
        "_lost",
        "_open",
        "_part",
        "_paused",
        "_scheduled",
        "_server",
        "_transport",
        "_unhandled",
        "_unread",
        "_ws",
        "caller",
    )
    caller: HandshakeInfo

    def __init__(self, server: WebSocketServer, connections: set[Any]) -> None:
        self._server = server
        self._connections = connections
        self._ws = ServerProtocol(max_size=server.limits.frame, logger=_log)
        self._handler: ConnectionHandler | None = None
        self._open = self._ignoring = self._paused = self._scheduled = self._lost = False
        self._part: bytearray | None = None
        self._unhandled: Iterator[Event] = _NOTHING
        self._unread = b""
        self._closing: asyncio.TimerHandle | None = None

    # Called by uvicorn and the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_protocol(self)  # before anything can fail, so that `connection_lost` is called here
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        if self._unread or self._paused:  # reading is paused; the transport may still deliver data
            self._unread += data
        elif len(data) <= AT_ONCE:
            self._read(data)
        else:
            self._transport.pause_reading()
            self._read(data)
            self._continue()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # the reason makes no difference
        self._connections.discard(self)
        self._server.inside.discard(self)
        self._open, self._ignoring, self._lost = False, True, True
        if self._closing is not None:
            self._closing.cancel()
        handler, self._handler = self._handler, None
        if handler is not None:
            handler.gone()

    def shutdown(self) -> None:
        """The server stops; closes a connection that its handler has not closed yet."""
        self.close(GOING_AWAY, "server going away")
        self._abort_after(self._server.limits.hurried_farewell)

    # Called by the handler

    @property
    def waiting(self) -> int:
        return 0 if self._lost else self._transport.get_write_buffer_size()

    def send(self, bundle: Bundle) -> None:
        if self._open:
            self._transport.write(bundle.encoded or join_frames(bundle))

    def pause(self) -> None:
        if self._open and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._paused:
            self._paused = False
            self._handle(self._unhandled)
            self._continue()

    def close(self, code: int, reason: str) -> None:
        if self._open:
            self._ignoring = True
            self._ws.send_close(code, reason.encode()[:LONGEST_REASON].decode(errors="ignore"))
            self._reply()
            self.resume()  # to read the client's close frame

    # Internal

    def _read(self, data: bytes) -> None:
        if self._ws.eof_sent:
            return  # we have closed; the client sends on until it notices
        self._unread = data[AT_ONCE:]
        self._ws.receive_data(data[:AT_ONCE])
        events = self._ws.events_received()
        if self._handler is None:
            self._answer_handshake(events)
        else:
            self._reply()
            self._handle(iter(events))

    def _continue(self) -> None:
        """Continue with the buffered data in the next loop iteration, then with the network."""
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
            self._continue()

    def _answer_handshake(self, events: list[Event]) -> None:
        """No event means that the request is incomplete, or that the library refused it."""
        for request in events:
            if isinstance(request, Request) and self._accept(request):
                self._server.inside.add(self)
                self.caller = caller_of(request, _address(self._transport))
                self._open = True
                self._reply()
                self._handler = self._server.welcome(self)
                return
        if self._ws.eof_sent:
            self._reply()

    def _accept(self, request: Request) -> bool:
        answer = self._ws.accept(request)
        problem = misplaced(request)
        if problem is None and answer.status_code != 101:
            problem = malformed(answer)
        problem = problem or foreign(request, self._server.origins)
        if problem is None and self._server.is_full:
            problem = FULL
        if problem is None:
            del answer.headers["Date"]
        self._ws.send_response(answer if problem is None else refused(problem))
        return problem is None

    def _reply(self) -> None:
        """Write what the protocol needs: the handshake's answer, pongs, a close frame, the end."""
        writes, going_on = self._ws.data_to_send(), self._ws.state is State.OPEN
        self._open = self._open and going_on
        if writes and not (going_on and self._transport.get_write_buffer_size() > PONGS_UNTIL):
            self._transport.write(b"".join(writes))
        if going_on:
            return
        self._abort_after(self._server.limits.farewell)
        if self._ws.eof_sent and not self._transport.is_closing():
            self._end()

    def _end(self) -> None:
        """Close only our direction if possible: a full close with unread bytes makes the kernel drop our last frame."""
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:
            self._transport.close()

    def _abort_after(self, seconds: float) -> None:
        """Abort after a while: a client that reads nothing could keep a closing connection open for ever."""
        if self._closing is None or seconds < self._server.limits.farewell:
            if self._closing is not None:
                self._closing.cancel()
            self._closing = asyncio.get_running_loop().call_later(seconds, self._transport.abort)

    def _handle(self, events: Iterator[Event]) -> None:
        """Takes an iterator, so that pausing after each of thousands of events and resuming stays cheap."""
        self._unhandled = _NOTHING
        for event in events:
            if self._ignoring:
                return
            if isinstance(event, WireFrame):
                self._take_frame(event)
            if self._paused:
                self._unhandled = events
                return

    def _take_frame(self, frame: WireFrame) -> None:
        if frame.opcode is Opcode.BINARY:
            self._fail(CloseCode.UNSUPPORTED_DATA, "text frames only")
        elif frame.opcode is Opcode.TEXT and frame.fin:
            self._deliver(bytes(frame.data))
        elif frame.opcode is Opcode.TEXT or frame.opcode is Opcode.CONT:
            self._part = self._part if self._part is not None else bytearray()
            self._part += frame.data  # not a list: a million empty fragments take no memory here
            if frame.fin:
                whole, self._part = bytes(self._part), None
                self._deliver(whole)

    def _fail(self, code: CloseCode, reason: str) -> None:
        """As the library does for an invalid frame: close without waiting for an answer."""
        self._ignoring = True
        self._ws.fail(code, reason)
        self._reply()

    def _deliver(self, text: bytes) -> None:
        try:
            text.decode()
        except UnicodeDecodeError:
            self._fail(CloseCode.INVALID_DATA, "text frames are UTF-8")
            return
        if self._handler is not None:
            self._handler.received(text)


def join_frames(bundle: Bundle) -> bytes:
    """A server's frames are not masked, so the same bytes serve every socket."""
    bundle.encoded = b"".join([frame.encoded or framed(frame) for frame in bundle.frames])
    return bundle.encoded


def framed(frame: Frame) -> bytes:
    frame.encoded = WireFrame(Opcode.TEXT, frame.text).serialize(mask=False)
    return frame.encoded


def _address(transport: asyncio.Transport) -> str:
    """Empty for a Unix socket."""
    name = transport.get_extra_info("peername")
    return str(name[0]) if isinstance(name, tuple) else ""

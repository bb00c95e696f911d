"""ASGI applications on sockets: uvicorn, stopped by SIGTERM or SIGINT with exit code 0."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import structlog
import uvicorn

if TYPE_CHECKING:
    from waypost.http.live.websocket import WebSocketServer  # a server without WebSockets does not load it

log = structlog.get_logger("server")

GRACE = 3
"""Seconds for requests under way to finish."""
LEAVE = signal.SIGUSR1
"""A successor is ready: accept nothing new and finish everything."""
UNHURRIED = 30
"""Seconds for requests under way to finish then."""
LEAVE_PATIENCE = 75.0
"""Seconds after which a process that should leave is killed: sends, then requests, may finish before."""
LINGER, LINGER_AT_A_STOP = 1.0, 0.3
"""Seconds for a request that may be on its way over a connection that seems idle."""
BACKLOG = 4096
"""Connections that may wait to be accepted: after a restart all clients reconnect at once."""


PORT_PATIENCE, PORT_PAUSE = 10.0, 0.1
"""Seconds."""


class CannotListen(Exception):
    """The address is in use or not available."""


class PortTaken(CannotListen):
    """Another program listens there."""


def listen_when_free(host: str, port: int) -> socket.socket:
    """Waits a little for the port: the workers of a supervisor that was killed keep it until they notice."""
    until = time.monotonic() + PORT_PATIENCE
    waits = False
    while True:
        try:
            return listen(host, port)
        except PortTaken:
            if time.monotonic() >= until:
                raise
            if not waits:
                log.warning(
                    "waiting_for_port", port=port, what=f"it is in use: waiting for {PORT_PATIENCE:.0f} seconds"
                )
            waits = True
        time.sleep(PORT_PAUSE)


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        where = f"cannot listen on {host}:{port}"
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(f"{where}: another program listens there: choose another {option}") from error
        raise CannotListen(f"{where}: {error.strerror}") from error
    except (OverflowError, UnicodeError) as error:
        sock.close()
        raise CannotListen(f"cannot listen on {host}:{port}: that is no address") from error
    sock.setblocking(False)
    return sock


def address(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"  # noqa: S104  # only for display


class _Quiet(uvicorn.Server):
    """Leaves signals to `stop_signal`, so that a stopped process exits with 0."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _AskedFor(logging.Filter):
    """Drops log records about connections that the sandbox cuts on purpose, and about unsupported upgrades."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        return "returned without completing response" not in message and "Unsupported upgrade request" not in message


_ASKED_FOR = _AskedFor()  # one for all servers, so that the filter is added once


def web_server(app: Any, websockets: WebSocketServer | None = None) -> uvicorn.Server:
    """Accepts WebSockets only with a WebSocket server."""
    config = uvicorn.Config(
        app if websockets is None else websockets.beside(app),
        loop="none",
        http="httptools" if websockets is None else _as_class(websockets.upgrade_protocol),
        ws="none" if websockets is None else _as_class(websockets.socket),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=GRACE,
    )
    logging.getLogger("uvicorn.error").addFilter(_ASKED_FOR)
    return _Quiet(config)


def _as_class(factory: Callable[..., asyncio.Protocol]) -> type[asyncio.Protocol]:
    """Uvicorn's type is a class, but it only calls it."""
    return cast(type[asyncio.Protocol], factory)


def stop_signal() -> asyncio.Event:
    """Set by SIGTERM or SIGINT; a second one changes nothing."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def leave_signal(stop: asyncio.Event) -> asyncio.Event:
    """Set by the supervisor's signal that a successor is ready, together with `stop`."""
    leave = asyncio.Event()

    def hear() -> None:
        leave.set()
        stop.set()

    asyncio.get_running_loop().add_signal_handler(LEAVE, hear)
    return leave


async def serve_until(
    stop: asyncio.Event,
    servers: Sequence[tuple[uvicorn.Server, socket.socket]],
    wind_down: Callable[[], Awaitable[None]],
    leave: asyncio.Event | None = None,
) -> None:
    """Serve until `stop` is set; wind down while still accepting connections, then finish the requests under way.

    With `leave` set, a successor accepts new connections: the listening sockets are closed first.
    """
    serving = [asyncio.ensure_future(server.serve(sockets=[sock])) for server, sock in servers]
    waiting = asyncio.ensure_future(stop.wait())
    await asyncio.wait([waiting, *serving], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    leaving = leave is not None and leave.is_set()
    for server, _ in servers:
        _let_connections_go(server)
        if leaving:
            _close_door(server)
            server.config.timeout_graceful_shutdown = UNHURRIED
    await wind_down()
    for server, _ in servers:
        _close_door(server)
    await _linger([server for server, _ in servers], LINGER if leaving else LINGER_AT_A_STOP)
    for server, _ in servers:
        server.should_exit = True
    await asyncio.gather(*serving)


def _let_connections_go(server: uvicorn.Server) -> None:
    """Makes each further answer the last on its connection, so that no request is sent over one that ends."""
    last = (b"connection", b"close")
    server.config.encoded_headers.append(last)
    server.server_state.default_headers.append(last)


def _close_door(server: uvicorn.Server) -> None:
    for listening in getattr(server, "servers", []):  # absent while it is still starting
        listening.close()


async def _linger(servers: Sequence[uvicorn.Server], patience: float) -> None:
    """Waits, since a request may be on its way over a connection that looks idle."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while any(server.server_state.connections for server in servers) and loop.time() < deadline:  # noqa: ASYNC110  # uvicorn has no event
        await asyncio.sleep(0.02)


def log_unhandled_errors() -> None:
    """Logs errors of tasks that are never awaited, in one line."""
    asyncio.get_running_loop().set_exception_handler(_log_bug)


def _log_bug(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    log.error("bug", what=context.get("message"), exc_info=context.get("exception"))

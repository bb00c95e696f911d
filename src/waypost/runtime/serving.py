"""ASGI applications on sockets: uvicorn, stopped by SIGTERM or SIGINT with exit code 0."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import structlog
import uvicorn

if TYPE_CHECKING:
    from waypost.http.websocket import Door  # a server without one need not load it

log = structlog.get_logger("server")

GRACE = 3
"""Seconds that requests under way have to finish."""
LEAVE = signal.SIGUSR1
"""A successor is ready: take nothing new, there is time to finish everything."""
UNHURRIED = 30
"""Seconds that requests under way have then."""
LEAVE_PATIENCE = 75.0
"""Seconds after which a process that was told to leave is killed: sends, then requests, have their time to finish."""
LINGER, LINGER_AT_A_STOP = 1.0, 0.3
"""Seconds for what was on its way over a connection that seemed idle."""
BACKLOG = 4096
"""Connections that may wait to be accepted: after a restart all clients come at once."""


class CannotListen(Exception):
    """The address is taken or not ours."""


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        taken = error.errno == errno.EADDRINUSE
        why = f"another program listens there: choose another {option}" if taken else error.strerror
        raise CannotListen(f"cannot listen on {host}:{port}: {why}") from error
    except (OverflowError, UnicodeError) as error:
        sock.close()
        raise CannotListen(f"cannot listen on {host}:{port}: that is no address") from error
    sock.setblocking(False)
    return sock


def address(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"  # noqa: S104  # only how it is shown


class _Quiet(uvicorn.Server):
    """Leaves signals to `stop_signal`, so that a stop is an exit with 0 and not a death by signal."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _AskedFor(logging.Filter):
    """The sandbox cuts a connection when it is told to, and a stranger may ask for any upgrade: no mistakes of ours."""

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        return "returned without completing response" not in said and "Unsupported upgrade request" not in said


_ASKED_FOR = _AskedFor()  # one for all servers: the same filter is added once


def web_server(app: Any, door: Door | None = None) -> uvicorn.Server:
    """With a door, WebSockets are taken there; without one, none are."""
    config = uvicorn.Config(
        app if door is None else door.beside(app),
        loop="none",
        http="httptools" if door is None else _as_class(door.doorstep),
        ws="none" if door is None else _as_class(door.socket),
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
    """Uvicorn says class and only ever calls it."""
    return cast(type[asyncio.Protocol], factory)


def stop_signal() -> asyncio.Event:
    """Set by SIGTERM or SIGINT; a second one changes nothing."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    return told


def leave_signal(told: asyncio.Event) -> asyncio.Event:
    """Set by the supervisor's sign that a successor is ready, and `told` with it."""
    leave = asyncio.Event()

    def hear() -> None:
        leave.set()
        told.set()

    asyncio.get_running_loop().add_signal_handler(LEAVE, hear)
    return leave


async def serve_until(
    told: asyncio.Event,
    servers: Sequence[tuple[uvicorn.Server, socket.socket]],
    wind_down: Callable[[], Awaitable[None]],
    leave: asyncio.Event | None = None,
) -> None:
    """Serve until told to stop; wind down with the doors still open, then finish the requests under way.

    When it is to leave, others take what comes from now on: the doors are closed first.
    """
    serving = [asyncio.ensure_future(server.serve(sockets=[sock])) for server, sock in servers]
    waiting = asyncio.ensure_future(told.wait())
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
    """Every answer from now on is the last one on its connection, so that nobody asks again over one that ends."""
    last = (b"connection", b"close")
    server.config.encoded_headers.append(last)
    server.server_state.default_headers.append(last)


def _close_door(server: uvicorn.Server) -> None:
    for listening in getattr(server, "servers", []):  # none while it is still starting
        listening.close()


async def _linger(servers: Sequence[uvicorn.Server], patience: float) -> None:
    """A request may be on its way over a connection that looks idle: whoever closes it loses the request."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while any(server.server_state.connections for server in servers) and loop.time() < deadline:  # noqa: ASYNC110  # uvicorn has no event
        await asyncio.sleep(0.02)


def show_bugs() -> None:
    """What a task fails with and nobody awaits goes to the log, in one line."""
    asyncio.get_running_loop().set_exception_handler(_log_bug)


def _log_bug(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    log.error("bug", what=context.get("message"), exc_info=context.get("exception"))

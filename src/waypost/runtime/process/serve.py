"""One server process, from settings to a clean stop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from functools import partial

import structlog
import uvloop

from waypost.model.ids import WorkerId
from waypost.runtime.process import exiting, freeze_gc
from waypost.runtime.process.heartbeat import Heartbeat
from waypost.runtime.process.server import GRACE, LEAVING_GRACE, Server
from waypost.runtime.process.uvicorn_runner import (
    address,
    leave_signal,
    log_unhandled_errors,
    serve_until,
    stop_signal,
    web_server,
)
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.settings.in_force import settings_in_force
from waypost.runtime.settings.roles import ProcessRole
from waypost.runtime.telemetry.telemetry import Telemetry
from waypost.runtime.wiring.demo_account import connect_from_environment
from waypost.runtime.wiring.wiring import Ports, ProcessNames, build_world, system_ports

log = structlog.get_logger("server")

FIRST_LOOK = 3.0
"""Seconds after which a process that is not ready accepts requests, to report it."""


def build_server(ports: Ports, settings: Settings, roles: frozenset[ProcessRole], listener: str = "") -> Server:
    telemetry = Telemetry()
    world = build_world(
        ports,
        settings.tuning(),
        telemetry,
        graph_url=settings.graph_url,
        graph_timeout=settings.graph_timeout_sec,
        smtp_timeout=settings.smtp_timeout_sec,
        names=ProcessNames(settings.worker_id, listener, tuple(map(WorkerId, settings.predecessors.split()))),
    )
    origins = [origin.strip() for origin in settings.allowed_origins.split(",") if origin.strip()]
    shown_settings = partial(settings_in_force, settings, os.environ)
    return Server(world, telemetry, in_force(settings, roles), origins, shown_settings)


def in_force(settings: Settings, roles: frozenset[ProcessRole]) -> frozenset[ProcessRole]:
    return roles if settings.outbound_worker_enabled else roles - {ProcessRole.WORKER}


async def _start(
    settings: Settings, roles: frozenset[ProcessRole], wanted: frozenset[ProcessRole], listener: str
) -> Server:
    log_unhandled_errors()
    ports = await system_ports(settings, answering=ProcessRole.WORKER in wanted, serving=True)
    server = build_server(ports, settings, roles, listener)
    await connect_from_environment(settings, os.environ, server.world)
    await server.start()
    freeze_gc.freeze_gc()
    return server


async def serve(
    settings: Settings,
    sock: socket.socket | None,
    roles: frozenset[ProcessRole],
    heartbeat: int | None = None,
    slot: int = 0,
) -> None:
    """Run one process until it is told to stop; without a socket, others publish its metrics."""
    stop = stop_signal()
    leave = leave_signal(stop)
    wanted = in_force(settings, roles)
    server = await _start(settings, roles, wanted, listener_name(sock, slot))
    pulse = Heartbeat(heartbeat) if heartbeat is not None else None
    await _first_look(server)
    webs = [(web_server(server.app, server.websockets), sock)] if sock is not None else []
    _log_address(sock, roles=sorted(wanted), database=settings.database_kind)

    async def ready() -> bool:
        return all(web.started for web, _ in webs) and not any((await server.readiness()).values())

    async def wind_down() -> None:
        await server.wind_down(LEAVING_GRACE if leave.is_set() else GRACE, followed=leave.is_set())

    if pulse is not None:
        pulse.say_when(ready)
    try:
        await serve_until(stop, webs, wind_down, leave)
    finally:
        closed = await server.stop()
        if pulse is not None:
            pulse.stop()
    log.info("stopped")
    if not closed:
        exiting.exit_now(0)  # a thread that waits for the database would delay the exit


def listener_name(sock: socket.socket | None, slot: int = 0) -> str:
    """Names this process's place, so that a restarted process has the same name."""
    return "" if sock is None else f"{socket.gethostname()}:{sock.getsockname()[1]}/{slot}"


def _log_address(sock: socket.socket | None, **what: object) -> None:
    if sock is None:
        log.info("working", pid=os.getpid(), **what)
    else:
        log.info("listening", url=address(sock), pid=os.getpid(), **what)


async def _first_look(server: Server) -> None:
    """Accepts no connection before it is ready, since others behind the same port may be."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(FIRST_LOOK):
            while any((await server.readiness()).values()):  # noqa: ASYNC110  # readiness depends on others, too
                await asyncio.sleep(0.01)


def serve_blocking(
    settings: Settings,
    sock: socket.socket | None,
    roles: frozenset[ProcessRole],
    heartbeat: int | None = None,
    slot: int = 0,
) -> None:
    uvloop.run(serve(settings, sock, roles, heartbeat, slot))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # another signal must not change the exit code of a finished stop

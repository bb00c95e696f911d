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

from waypost.runtime import leaving, memory
from waypost.runtime.demo_account import connect_from_environment
from waypost.runtime.heartbeat import Heartbeat
from waypost.runtime.roles import Role
from waypost.runtime.server import GRACE, LEAVING_GRACE, Server
from waypost.runtime.serving import address, leave_signal, serve_until, show_bugs, stop_signal, web_server
from waypost.runtime.settings import Settings
from waypost.runtime.settings_in_force import settings_in_force
from waypost.runtime.telemetry import Telemetry
from waypost.runtime.wiring import Ports, build_world, system_ports

log = structlog.get_logger("server")

FIRST_LOOK = 3.0
"""Seconds after which one that is not ready says so to whoever asks."""


def build_server(ports: Ports, settings: Settings, roles: frozenset[Role]) -> Server:
    telemetry = Telemetry()
    world = build_world(
        ports,
        settings.tuning(),
        telemetry,
        graph_url=settings.graph_url,
        graph_timeout=settings.graph_timeout_sec,
        smtp_timeout=settings.smtp_timeout_sec,
        worker=settings.worker_id,
        predecessors=settings.predecessors.split(),
    )
    origins = [origin.strip() for origin in settings.allowed_origins.split(",") if origin.strip()]
    told = partial(settings_in_force, settings, os.environ)
    return Server(world, telemetry, in_force(settings, roles), origins, told)


def in_force(settings: Settings, roles: frozenset[Role]) -> frozenset[Role]:
    return roles if settings.outbound_worker_enabled else roles - {Role.WORKER}


async def serve(
    settings: Settings, sock: socket.socket | None, roles: frozenset[Role], heartbeat: int | None = None
) -> None:
    """Without a socket nobody comes to it: the supervisor hears how it is, and others show its figures."""
    told = stop_signal()
    leave = leave_signal(told)
    show_bugs()
    wanted = in_force(settings, roles)
    ports = await system_ports(settings, answering=Role.WORKER in wanted, serving=True)
    server = build_server(ports, settings, roles)
    await connect_from_environment(settings, os.environ, server.world)
    await server.start()
    memory.settle()
    pulse = Heartbeat(heartbeat) if heartbeat is not None else None
    await _first_look(server)
    webs = [(web_server(server.app, server.door), sock)] if sock is not None else []
    _say_where(sock, roles=sorted(wanted), database=settings.database_kind)

    async def ready() -> bool:
        return all(web.started for web, _ in webs) and not any((await server.readiness()).values())

    async def wind_down() -> None:
        await server.wind_down(LEAVING_GRACE if leave.is_set() else GRACE, followed=leave.is_set())

    if pulse is not None:
        pulse.say_when(ready)
    try:
        await serve_until(told, webs, wind_down, leave)
    finally:
        closed = await server.stop()
        if pulse is not None:
            pulse.stop()
    log.info("stopped")
    if not closed:
        leaving.leave(0)  # a thread that waits for the database would keep the process for as long as that takes


def _say_where(sock: socket.socket | None, **what: object) -> None:
    if sock is None:
        log.info("working", pid=os.getpid(), **what)
    else:
        log.info("listening", url=address(sock), pid=os.getpid(), **what)


async def _first_look(server: Server) -> None:
    """Nobody is let in before: one of several behind a port must not be the one that says it is not ready."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(FIRST_LOOK):
            while any((await server.readiness()).values()):  # noqa: ASYNC110  # whether it is depends on others, too
                await asyncio.sleep(0.01)


def serve_blocking(
    settings: Settings, sock: socket.socket | None, roles: frozenset[Role], heartbeat: int | None = None
) -> None:
    uvloop.run(serve(settings, sock, roles, heartbeat))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # one more must not spoil the exit code of a stop that is done

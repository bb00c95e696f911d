"""One server process, from settings to a clean stop."""

from __future__ import annotations

import os
import signal
import socket

import structlog
import uvloop

from waypost.runtime import memory
from waypost.runtime.demo_account import connect_from_environment
from waypost.runtime.heartbeat import beat_forever
from waypost.runtime.roles import Role
from waypost.runtime.server import Server
from waypost.runtime.serving import address, serve_until, show_bugs, stop_signal, web_server
from waypost.runtime.settings import Settings
from waypost.runtime.telemetry import Telemetry
from waypost.runtime.wiring import Ports, build_world, system_ports

log = structlog.get_logger("server")


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
    wanted = roles if settings.outbound_worker_enabled else roles - {Role.WORKER}
    origins = [origin.strip() for origin in settings.allowed_origins.split(",") if origin.strip()]
    return Server(world, telemetry, wanted, origins)


async def serve(settings: Settings, sock: socket.socket, roles: frozenset[Role], heartbeat: int | None = None) -> None:
    told = stop_signal()
    show_bugs()
    server = build_server(await system_ports(settings, answering=Role.WORKER in roles), settings, roles)
    await connect_from_environment(settings, os.environ, server.world)
    await server.start()
    memory.settle()
    beating = beat_forever(heartbeat) if heartbeat is not None else None
    log.info("listening", url=address(sock), pid=os.getpid(), roles=sorted(roles), database=settings.database_kind)
    try:
        await serve_until(told, [(web_server(server.app, server.door), sock)], server.wind_down)
    finally:
        closed = await server.stop()
        if beating is not None:
            beating.cancel()
    log.info("stopped")
    if not closed:
        os._exit(0)  # a thread that waits for the database would keep the process for as long as that takes


def serve_blocking(
    settings: Settings, sock: socket.socket, roles: frozenset[Role], heartbeat: int | None = None
) -> None:
    uvloop.run(serve(settings, sock, roles, heartbeat))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # one more must not spoil the exit code of a stop that is done

"""One server process, from settings to a clean stop."""

from __future__ import annotations

import os
import socket

import structlog
import uvloop

from waypost.runtime.demo_account import connect_from_environment
from waypost.runtime.heartbeat import beat_forever
from waypost.runtime.server import Role, Server
from waypost.runtime.serving import address, show_bugs, until_told_to_stop, web_server
from waypost.runtime.settings import Settings
from waypost.runtime.telemetry import Telemetry
from waypost.runtime.wiring import Ports, build_world, system_ports

log = structlog.get_logger("server")


def build_server(ports: Ports, settings: Settings, roles: frozenset[Role]) -> Server:
    telemetry = Telemetry()
    world = build_world(
        ports, settings.tuning(), telemetry, graph_url=settings.graph_url, graph_timeout=settings.graph_timeout_sec
    )
    wanted = roles if settings.outbound_worker_enabled else roles - {Role.WORKER}
    return Server(world, telemetry, wanted)


async def serve(settings: Settings, sock: socket.socket, roles: frozenset[Role], heartbeat: int | None = None) -> None:
    show_bugs()
    server = build_server(await system_ports(settings), settings, roles)
    await connect_from_environment(settings, os.environ, server.world)
    await server.start()
    beating = beat_forever(heartbeat) if heartbeat is not None else None
    log.info("listening", url=address(sock), roles=sorted(roles), database=settings.database_url.split("://")[0])
    try:
        await until_told_to_stop([(web_server(server.app), sock)])
    finally:
        await server.stop()
        if beating is not None:
            beating.cancel()
    log.info("stopped")


def serve_blocking(
    settings: Settings, sock: socket.socket, roles: frozenset[Role], heartbeat: int | None = None
) -> None:
    uvloop.run(serve(settings, sock, roles, heartbeat))

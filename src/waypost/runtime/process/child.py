"""One of several server processes, run as `python -m waypost.runtime.process.child SOCKET PULSE ROLES SLOT`."""

from __future__ import annotations

import signal
import socket
import sys

import structlog

from waypost.ports.platform.failure import LedgerError
from waypost.runtime.process.exiting import exit_now
from waypost.runtime.settings.definitions import Settings, SettingsError, load
from waypost.runtime.settings.roles import NO_SOCKET, ProcessRole
from waypost.runtime.telemetry.logs import configure_logs


def main() -> int:
    from waypost.runtime.process.serve import serve_blocking  # noqa: PLC0415  # the metrics folder is set before this is imported

    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a terminal signals every process; the supervisor decides what to do
    descriptor, pulse, roles, slot = sys.argv[1:5]
    configure_logs(Settings().log_level, Settings().log_format)  # until we know better
    try:
        settings = load()
        configure_logs(settings.log_level, settings.log_format)
        sock = _socket(int(descriptor))
        wanted = frozenset(ProcessRole(role) for role in roles.split(","))
        serve_blocking(settings, sock, wanted, int(pulse), int(slot))
    except (SettingsError, LedgerError) as failure:
        structlog.get_logger("server").error("cannot_start", error=str(failure))
        return 1
    return 0


def _socket(descriptor: int) -> socket.socket | None:
    if descriptor == NO_SOCKET:
        return None
    sock = socket.socket(fileno=descriptor)
    sock.setblocking(False)
    return sock


if __name__ == "__main__":
    exit_now(main())

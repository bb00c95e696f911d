"""One of several server processes, started by the supervisor: `python -m waypost.runtime.child SOCKET PULSE ROLES`."""

from __future__ import annotations

import socket
import sys

from waypost.runtime.roles import Role
from waypost.runtime.settings import load
from waypost.runtime.telemetry import configure_logs


def main() -> None:
    from waypost.runtime.serve import serve_blocking  # noqa: PLC0415  # the metrics folder is set before this is imported

    descriptor, pulse, roles = sys.argv[1:4]
    settings = load()
    configure_logs(settings.log_level, settings.log_format)
    sock = socket.socket(fileno=int(descriptor))
    sock.setblocking(False)
    serve_blocking(settings, sock, frozenset(Role(role) for role in roles.split(",")), int(pulse))


if __name__ == "__main__":
    main()

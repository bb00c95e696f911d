"""PgBouncer as a child process, for tests of a server behind a pooler."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from waypost_testing.services.processes import (
    Owner,
    Postgres,
    Service,
    ServiceMissing,
    ServiceProcess,
    ShutdownMode,
    find_program,
    unprivileged,
)


class PgBouncer(Service):
    """PgBouncer in transaction mode in front of a running PostgreSQL: few connections for many clients."""

    _signals: ClassVar[Mapping[ShutdownMode, signal.Signals]] = {"fast": signal.SIGINT, "immediate": signal.SIGTERM}

    def __init__(self, postgres: Postgres, connections: int = 4, settings: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._behind = postgres.port
        self._settings = {"default_pool_size": str(connections), **(settings or {})}
        self._owner = Owner()
        self._program = Path()

    @property
    def url(self) -> str:
        return self.in_front_of(f"postgresql://postgres@127.0.0.1:{self._behind}/postgres")

    def in_front_of(self, url: str) -> str:
        """The same database through the pooler."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{url.rpartition('/')[2]}"

    def _require(self) -> None:
        found = find_program("pgbouncer") or find_program("/usr/sbin/pgbouncer")
        if found is None:
            raise ServiceMissing("PgBouncer: pgbouncer is not on PATH")
        self._program = found
        self._owner = unprivileged()

    def _prepare(self) -> None:
        if self._owner:
            os.chown(self.folder, self._owner["user"], self._owner["group"])
        (self.folder / "users").write_text('"postgres" ""\n')

    def _spawn(self) -> ServiceProcess:
        settings = {
            "listen_addr": "127.0.0.1",
            "listen_port": str(self.port),
            "unix_socket_dir": "",
            "auth_type": "any",
            "auth_file": "users",
            "pool_mode": "transaction",
            "max_client_conn": "500",
            **self._settings,
        }
        lines = ["[databases]", f"* = host=127.0.0.1 port={self._behind} user=postgres", "[pgbouncer]"]
        lines += [f"{name} = {value}" for name, value in settings.items()]
        (self.folder / "pgbouncer.ini").write_text("\n".join(lines) + "\n")
        return ServiceProcess([str(self._program), "pgbouncer.ini"], self.folder, self._owner)

    def _ready(self, child: ServiceProcess) -> bool:
        return "process up" in child.log

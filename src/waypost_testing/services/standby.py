"""A second PostgreSQL that replicates a first one by streaming, and can be promoted.

with Postgres() as primary, Standby(primary) as standby:
    standby.keep_in_step()
    primary.kill()
    standby.promote()
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from waypost_testing.services.processes import Postgres, ServiceFailed

_PATIENCE = 30.0
_PAUSE = 0.02


class Standby(Postgres):
    """A copy of the primary that follows it from then on."""

    def __init__(self, primary: Postgres, settings: Mapping[str, str] | None = None) -> None:
        super().__init__({"hot_standby": "on", **(settings or {})})
        self._primary = primary

    def url_of_either(self, url: str) -> str:
        """A database's address at the primary, extended to reach whichever of the two accepts writes."""
        user, _, place = url.removeprefix("postgresql://").partition("@")
        host, _, database = place.partition("/")
        return f"postgresql://{user}@{host},127.0.0.1:{self.port}/{database}?target_session_attrs=primary"

    def keep_in_step(self) -> None:
        """From now on the primary acknowledges only what is on this standby's disk."""
        self._primary.command("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self._primary.command("SELECT pg_reload_conf()")
        self._wait_for(
            self._primary, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", "1", "it is in step"
        )

    def promote(self) -> None:
        """Returns when it accepts writes."""
        self.command("ALTER SYSTEM RESET synchronous_standby_names")  # no standby follows it yet
        self.command("SELECT pg_reload_conf()")
        self.command("SELECT pg_promote(true, 30)")

    def _prepare(self) -> None:
        if self._owner:
            os.chown(self.folder, self._owner["user"], self._owner["group"])
        here = (f"--pgdata={self.folder}/data", f"--dbname={self._primary.url}")
        self._call(
            "pg_basebackup", *here, "--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--wal-method=stream"
        )

    @staticmethod
    def _wait_for(server: Postgres, query: str, wanted: str, what: str) -> None:
        deadline = time.monotonic() + _PATIENCE
        while server.command(query) != wanted:
            if time.monotonic() > deadline:
                raise ServiceFailed(f"PostgreSQL timed out before {what}")
            time.sleep(_PAUSE)

"""Whether PostgreSQL has room for another connection of this process."""

from __future__ import annotations

import structlog

log = structlog.get_logger("postgres")

LOOK_EVERY = 5.0
"""Seconds."""

LEFT = """
SELECT least(
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int
        - count(*) FILTER (WHERE a.datname IS NOT NULL),
    (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user)
        - count(*) FILTER (WHERE a.usename = current_user),
    (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
        - count(*) FILTER (WHERE a.datname = current_database())
)::int
FROM pg_stat_activity a
"""
"""Connections that this role may still open: the limits of the server, the role and the database, less those in use.

Only columns that every role may see of others.
"""


class ConnectionRoom:
    """PostgreSQL's connections are shared with other processes.

    When they are used up, a process uses fewer: it closes idle ones, so that a process without any gets one, and then
    opens one more per look while there is room: the others see the same room, and together they would use it up again.
    """

    def __init__(self) -> None:
        self._budget: int | None = None
        """Connections that may be opened until the next look; None: any number."""

    @property
    def may_open(self) -> bool:
        return self._budget is None or self._budget > 0

    def was_opened(self) -> None:
        if self._budget:
            self._budget -= 1

    def was_refused(self, why: str) -> None:
        self._restrict(0, why)

    def look(self, left: int, wanted: int) -> bool:
        """Note how many connections are left; True if this process should give back what it can spare."""
        if left <= 0:
            self._restrict(0, "none is left")
            return True
        if self._budget is not None:
            self._budget = min(self._budget + 1, left - 1)  # one stays for a process that has none
            if self._budget >= wanted:
                self._budget = None
                log.info("postgres_connections_free", left=left)
        return False

    def _restrict(self, budget: int, why: str) -> None:
        if self._budget is None:
            log.warning(
                "postgres_connections_used_up",
                error=why,
                what="this process closes those that it can spare: raise max_connections, or run fewer processes",
            )
        self._budget = budget

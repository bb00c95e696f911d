"""Access to PostgreSQL: directly, or through a pooler that lends a connection for one transaction at a time."""

from __future__ import annotations

import asyncio
from typing import NamedTuple, TypeAlias

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from waypost.ports.platform.failure import Unavailable

PostgresConnection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

TAKES_WRITES = SessionAttribute.primary
"""With several hosts or a floating address: a standby would refuse writes and return stale data."""
CONNECT_TIMEOUT = 5.0
ANSWER_TIMEOUT = 10.0
STATEMENTS_KEPT = 500
"""Per connection; combined writes need more prepared statements than there are named ones."""

WRITER_SETTINGS = {
    # The server releases the locks of a paused process.
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": "2s",
    # Every statement uses a key. A plan made while a table was empty must not scan it once it is full.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
}
_WRITER, _READER = {"application_name": "waypost"}, {"application_name": "waypost-read"}
_IN_EACH_TRANSACTION = "BEGIN; " + "; ".join(f"SET LOCAL {name} = '{value}'" for name, value in WRITER_SETTINGS.items())

LOST = (
    OSError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # raised when the server closed an idle connection
    asyncpg.PostgresConnectionError,
    asyncio.TimeoutError,
)


class PostgresAccess(NamedTuple):
    """Through a pooler, a connection keeps no state: each transaction applies the settings and prepares its statements.

    That is slower than a direct connection, and equally correct.
    """

    url: str
    pooled: bool = False
    for_reading: bool = False

    @property
    def begin(self) -> str:
        return "BEGIN" if self.keeps_settings else _IN_EACH_TRANSACTION

    @property
    def reading(self) -> PostgresAccess:
        """For a connection that reads. Should it have to write, each transaction applies the settings for that."""
        return self._replace(for_reading=True)

    @property
    def keeps_settings(self) -> bool:
        """Whether each connection has a writer's settings from its start."""
        return not self.pooled and not self.for_reading

    async def line(self, kept: int = STATEMENTS_KEPT) -> PostgresConnection:
        """A connection that keeps up to `kept` prepared statements."""
        settings = {} if self.pooled else {"jit": "off"} if self.for_reading else WRITER_SETTINGS
        connection: PostgresConnection = await asyncpg.connect(
            self.url,
            timeout=CONNECT_TIMEOUT,
            command_timeout=ANSWER_TIMEOUT,
            target_session_attrs=TAKES_WRITES,
            server_settings={**(_READER if self.for_reading else _WRITER), **settings},
            statement_cache_size=0 if self.pooled else kept,
        )
        return connection


async def find_access(url: str) -> PostgresAccess:
    """Detect a pooler: it refuses session settings or ignores them."""
    try:
        probe = await PostgresAccess(url).line(kept=0)
    except asyncpg.ProtocolViolationError as refused:
        if "startup parameter" in str(refused):
            return PostgresAccess(url, pooled=True)
        raise unreachable_error(refused) from refused
    except (*LOST, asyncpg.PostgresError) as error:
        raise unreachable_error(error) from error
    try:
        async with probe.transaction():
            found = await probe.fetchval("SELECT current_setting('plan_cache_mode')")
        return PostgresAccess(url, pooled=found != WRITER_SETTINGS["plan_cache_mode"])
    except (*LOST, asyncpg.PostgresError) as error:
        raise unreachable_error(error) from error
    finally:
        await probe.close(timeout=CONNECT_TIMEOUT)


class NoRoom(Unavailable):
    """PostgreSQL has no free connection. Nothing was done."""


def unreachable_error(error: Exception) -> Unavailable:
    if isinstance(error, asyncpg.TooManyConnectionsError):
        return NoRoom(f"PostgreSQL has no free connection ({error}): raise max_connections, or run fewer processes")
    return Unavailable(f"PostgreSQL cannot be reached: {str(error) or 'no answer'}")

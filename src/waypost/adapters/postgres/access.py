"""Access to PostgreSQL: directly, or through a pooler that lends a connection for one transaction at a time."""

from __future__ import annotations

import asyncio
from typing import NamedTuple, TypeAlias

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from waypost.ports.platform.failure import Unavailable

PostgresConnection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
PostgresPool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"

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

    @property
    def begin(self) -> str:
        return _IN_EACH_TRANSACTION if self.pooled else "BEGIN"

    async def line(self, kept: int = STATEMENTS_KEPT) -> PostgresConnection:
        """A writing connection that keeps up to `kept` prepared statements."""
        connection: PostgresConnection = await asyncpg.connect(
            self.url,
            timeout=CONNECT_TIMEOUT,
            command_timeout=ANSWER_TIMEOUT,
            target_session_attrs=TAKES_WRITES,
            server_settings=_WRITER if self.pooled else {**_WRITER, **WRITER_SETTINGS},
            statement_cache_size=0 if self.pooled else kept,
        )
        return connection

    async def readers(self, most: int) -> PostgresPool:
        pool: PostgresPool = await asyncpg.create_pool(
            self.url,
            min_size=1,
            max_size=most,
            timeout=CONNECT_TIMEOUT,
            command_timeout=ANSWER_TIMEOUT,
            target_session_attrs=TAKES_WRITES,
            server_settings=_READER if self.pooled else {**_READER, "jit": "off"},
            statement_cache_size=0 if self.pooled else 100,
            reset=_leave,
        )
        return pool


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


def unreachable_error(error: Exception) -> Unavailable:
    return Unavailable(f"PostgreSQL cannot be reached: {str(error) or 'no answer'}")


async def _leave(_: object) -> None:
    """Readers do not change their session, so the pool's reset, a second round trip per read, is skipped."""

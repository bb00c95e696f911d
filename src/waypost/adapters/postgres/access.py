"""How PostgreSQL is reached: directly, or through a pooler that lends a connection for one transaction at a time."""

from __future__ import annotations

import asyncio
from typing import NamedTuple, TypeAlias

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from waypost.ports.failure import Unavailable

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"

TAKES_WRITES = SessionAttribute.primary
"""Of several hosts, or behind an address that moves: a standby would refuse writes, and show what was a while ago."""
CONNECT_TIMEOUT = 5.0
ANSWER_TIMEOUT = 10.0
STATEMENTS_KEPT = 500
"""Prepared on each line: writes that go together make more of them than there are names."""

WRITER_SETTINGS = {
    # What a paused process holds is let go by the server.
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": "2s",
    # Every statement goes by key. A plan made while a table was still empty must not become a scan of a full one.
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
    asyncpg.InternalClientError,  # how asyncpg meets a farewell that the server sent while nobody asked it anything
    asyncpg.PostgresConnectionError,
    asyncio.TimeoutError,
)


class Access(NamedTuple):
    """Through a pooler nothing may be left on a connection: settings are made in, and statements prepared for, each
    transaction. That is slower than a connection of one's own, and as right."""

    url: str
    pooled: bool = False

    @property
    def begin(self) -> str:
        return _IN_EACH_TRANSACTION if self.pooled else "BEGIN"

    async def line(self, kept: int = STATEMENTS_KEPT) -> Connection:
        """One that writes, and keeps so many prepared statements."""
        connection: Connection = await asyncpg.connect(
            self.url,
            timeout=CONNECT_TIMEOUT,
            command_timeout=ANSWER_TIMEOUT,
            target_session_attrs=TAKES_WRITES,
            server_settings=_WRITER if self.pooled else {**_WRITER, **WRITER_SETTINGS},
            statement_cache_size=0 if self.pooled else kept,
        )
        return connection

    async def readers(self, most: int) -> Pool:
        pool: Pool = await asyncpg.create_pool(
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


async def find_access(url: str) -> Access:
    """A pooler refuses the settings of a session, or leaves them out; what is in force tells."""
    try:
        probe = await Access(url).line(kept=0)
    except asyncpg.ProtocolViolationError as refused:
        if "startup parameter" in str(refused):
            return Access(url, pooled=True)
        raise unreachable(refused) from refused
    except (*LOST, asyncpg.PostgresError) as error:
        raise unreachable(error) from error
    try:
        async with probe.transaction():
            found = await probe.fetchval("SELECT current_setting('plan_cache_mode')")
        return Access(url, pooled=found != WRITER_SETTINGS["plan_cache_mode"])
    except (*LOST, asyncpg.PostgresError) as error:
        raise unreachable(error) from error
    finally:
        await probe.close(timeout=CONNECT_TIMEOUT)


def unreachable(error: Exception) -> Unavailable:
    return Unavailable(f"PostgreSQL cannot be reached: {str(error) or 'no answer'}")


async def _leave(_: object) -> None:
    """Readers change nothing of their session: putting it back in order would be a second round trip for each read."""

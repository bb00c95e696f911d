"""Facts about a PostgreSQL server, for `waypost doctor`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import get_args

import msgspec

from waypost.adapters.postgres.access import find_access
from waypost.adapters.postgres.connection_room import LEFT
from waypost.adapters.postgres.copy_target import connected
from waypost.adapters.postgres.schema import COPYING, MOVED, PACKAGE, SchemaConnection, there, version
from waypost.adapters.sql.engine.engine import CommitQueue, ConnectionName
from waypost.adapters.sql.engine.migrations import pending

LINES = len(CommitQueue) + len(get_args(ConnectionName))
"""Connections that one Waypost process may open, not counting readers."""

_SETTINGS = (
    "autovacuum",
    "fsync",
    "full_page_writes",
    "idle_session_timeout",
    "lock_timeout",
    "max_connections",
    "server_encoding",
    "statement_timeout",
    "synchronous_commit",
    "synchronous_standby_names",
    "transaction_read_only",
)
_STANDBYS = """
SELECT coalesce(nullif(application_name, ''), 'unnamed'), coalesce(state, 'unknown'), coalesce(sync_state, 'unknown'),
    coalesce(extract(epoch FROM replay_lag), 0)::float8
FROM pg_stat_replication ORDER BY 1
"""


class StandbyFacts(msgspec.Struct, frozen=True):
    name: str
    state: str
    sync: str
    behind: float
    """Seconds."""


class PostgresFacts(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    """170002 is 17.2"""
    settings: Mapping[str, str]
    connections: int
    """In use by all clients."""
    connections_left: int
    """That our role may still open."""
    in_recovery: bool
    standbys: Sequence[StandbyFacts]
    schema: int
    missing: Sequence[str]
    """What `waypost migrate` would apply."""
    copying: bool
    is_moved: bool = False
    """`waypost admin copy` has copied it to another database."""
    size: int
    answered_in: float
    """Seconds; the quickest of several."""
    ahead: float
    """Seconds that the server's clock is ahead of ours, less the uncertainty of the round trip."""


async def facts(url: str) -> PostgresFacts:
    """Raises Unavailable if the server does not answer, NewerSchema if a newer Waypost has migrated it."""
    async with connected(url, to_look=True) as connection, connection.transaction():  # one, for a pooler's sake
        answered_in, ahead = await _clock(connection)
        schema = await version(connection)
        missing = await asyncio.to_thread(pending, PACKAGE, schema)
        named = await connection.fetch("SELECT name, setting FROM pg_settings WHERE name = ANY ($1::text[])", _SETTINGS)
        used = "SELECT count(*) FROM pg_stat_activity WHERE datname IS NOT NULL"  # what every role may see of others
        return PostgresFacts(
            version=int(await connection.fetchval("SELECT current_setting('server_version_num')")),
            settings={row[0]: row[1] for row in named},
            connections=await connection.fetchval(used),
            connections_left=await connection.fetchval(LEFT),
            in_recovery=await connection.fetchval("SELECT pg_is_in_recovery()"),
            standbys=[StandbyFacts(*row) for row in await connection.fetch(_STANDBYS)],
            schema=schema,
            missing=[each.name for each in missing],
            copying=await there(connection, COPYING),
            is_moved=await there(connection, MOVED),
            size=await connection.fetchval("SELECT pg_database_size(current_database())"),
            answered_in=answered_in,
            ahead=ahead,
        )


async def connections_left(url: str) -> int | None:
    """Connections that our role may still open; None through a pooler, which shares them."""
    access = await find_access(url)
    if access.pooled:
        return None
    async with connected(url) as connection:
        left: int = await connection.fetchval(LEFT)
    return left + 1  # ours


async def _clock(connection: SchemaConnection) -> tuple[float, float]:
    """The quickest answer also gives the best estimate of the clock."""
    best = (float("inf"), 0.0)
    for _ in range(5):
        before, ours = time.perf_counter(), time.time()
        theirs = await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())::float8")
        took = time.perf_counter() - before
        if took < best[0]:
            best = (took, theirs - (ours + took / 2))
    took, ahead = best
    sure = max(0.0, abs(ahead) - took / 2)
    return took, sure if ahead > 0 else -sure

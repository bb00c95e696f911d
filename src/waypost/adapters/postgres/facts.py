"""What a PostgreSQL server says of itself, for whoever judges whether Waypost is well there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import get_args

import msgspec

from waypost.adapters.postgres.schema import COPYING, MOVED, PACKAGE, Connection, there, version
from waypost.adapters.postgres.whole_database import connected
from waypost.adapters.sql.engine import LineName
from waypost.adapters.sql.migrations import pending
from waypost.adapters.sql.writer import Lane

LINES = len(Lane) + len(get_args(LineName))
"""Connections that one process of ours may take, beside those that read."""

_SETTINGS = (
    "autovacuum",
    "fsync",
    "full_page_writes",
    "idle_session_timeout",
    "lock_timeout",
    "max_connections",
    "server_encoding",
    "statement_timeout",
    "superuser_reserved_connections",
    "synchronous_commit",
    "synchronous_standby_names",
    "transaction_read_only",
)
_STANDBYS = """
SELECT coalesce(nullif(application_name, ''), 'unnamed'), coalesce(state, 'unknown'), coalesce(sync_state, 'unknown'),
    coalesce(extract(epoch FROM replay_lag), 0)::float8
FROM pg_stat_replication ORDER BY 1
"""


class Standby(msgspec.Struct, frozen=True):
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
    """That are taken by whomever."""
    in_recovery: bool
    standbys: Sequence[Standby]
    schema: int
    missing: Sequence[str]
    """What `waypost migrate` would apply."""
    copying: bool
    is_moved: bool = False
    """Everything of it is in another database, by `waypost admin copy`."""
    size: int
    answered_in: float
    """Seconds, of the quickest of a few."""
    ahead: float
    """Seconds that its clock is before ours, less what cannot be told from the way there and back."""


async def facts(url: str) -> PostgresFacts:
    """Raises Unavailable where nobody answers, WrongSchema where a newer Waypost was at work."""
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
            in_recovery=await connection.fetchval("SELECT pg_is_in_recovery()"),
            standbys=[Standby(*row) for row in await connection.fetch(_STANDBYS)],
            schema=schema,
            missing=[each.name for each in missing],
            copying=await there(connection, COPYING),
            is_moved=await there(connection, MOVED),
            size=await connection.fetchval("SELECT pg_database_size(current_database())"),
            answered_in=answered_in,
            ahead=ahead,
        )


async def _clock(connection: Connection) -> tuple[float, float]:
    """The quickest answer is the one that says most about the clock, too."""
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

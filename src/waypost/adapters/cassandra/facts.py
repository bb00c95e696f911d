"""Facts about the Cassandra cluster of the history store, for `waypost doctor`."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

import acsylla
import msgspec
from acsylla import errors
from msgspec.structs import replace

from waypost.adapters.cassandra import schema
from waypost.adapters.cassandra.address import CassandraAddress
from waypost.adapters.cassandra.keyspace import opened, translate_error

_NODE = "SELECT release_version, data_center FROM system.local"
_PEERS = "SELECT data_center FROM system.peers"
_CLOCK = "SELECT toUnixTimestamp(now()) FROM system.local"
_SCYLLA = "SELECT version FROM system.versions WHERE key = 'local'"
_REPLICATION = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = '{keyspace}'"
_SETTING = "SELECT value FROM system_views.settings WHERE name = '{name}'"
_SYNC, _PERIOD = "commitlog_sync", "commitlog_sync_period"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_ASKED = 5


class CassandraFacts(msgspec.Struct, frozen=True, kw_only=True):
    product: str
    """Cassandra, ScyllaDB"""
    version: str
    centre: str
    """The data centre that answered."""
    nodes: Mapping[str, int]
    """By data centre."""
    strategy: str
    copies: Mapping[str, int]
    """By data centre, or all together under `replication_factor`."""
    sync: str = ""
    """When its commit log is on disk: `batch` and `group` before it confirms a write, `periodic` up to `sync_period`
    later; empty if the server does not say."""
    sync_period: float = 0.0
    """Seconds."""
    round_trip: float
    """Seconds; the quickest of several."""
    skew: float
    """Seconds that its clock is ahead of ours, give or take half a round trip."""


async def read_facts(address: CassandraAddress) -> CassandraFacts:
    """Raises Unavailable if no node answers, WrongHistorySchema if the schema has another version."""
    alone = replace(address, consistency="LOCAL_ONE")  # works even if too few replicas are up for other levels
    session = await opened(alone, address.keyspace)
    try:
        await schema.check(session)
        ((release, centre),) = await _ask(session, _NODE)
        scylla = await _scylla(session)
        ((replication,),) = await _ask(session, _REPLICATION.format(keyspace=address.keyspace))
        nodes = [centre, *(row[0] for row in await _ask(session, _PEERS))]
        sync, period = await _setting(session, _SYNC), await _setting(session, _PERIOD)
        round_trip, skew = await _timed(session)
    except errors.CassException as error:
        raise translate_error(error) from error
    finally:
        await session.close()
    options = dict(replication)
    return CassandraFacts(
        product="ScyllaDB" if scylla else "Cassandra",
        version=scylla or release,
        centre=centre,
        nodes={name: nodes.count(name) for name in sorted(set(nodes))},
        strategy=options.pop("class").rpartition(".")[2],
        copies={name: int(count) for name, count in options.items() if count.isdecimal()},
        sync=sync,
        sync_period=seconds_of(period),
        round_trip=round_trip,
        skew=skew,
    )


async def _scylla(session: Any) -> str:
    """ScyllaDB's version; Cassandra has no such table."""
    try:
        ((version,),) = await _ask(session, _SCYLLA)
    except (errors.CassErrorServerInvalidQuery, ValueError):
        return ""
    return str(version)


async def _setting(session: Any, name: str) -> str:
    """A server's setting; ScyllaDB has no such table, and not every user may read it."""
    try:
        found = await _ask(session, _SETTING.format(name=name))
    except (errors.CassErrorServerInvalidQuery, errors.CassErrorServerUnauthorized):
        return ""
    return str(found[0][0] or "") if found else ""


def seconds_of(text: str) -> float:
    """A duration as Cassandra writes it, like `10000ms`; 0 if it is another text."""
    known = re.fullmatch(r"(\d+)(ms|s|m|h)", text)
    return int(known[1]) * _UNITS[known[2]] if known else 0.0


async def _timed(session: Any) -> tuple[float, float]:
    """The quickest round trip, and the clock difference at its midpoint."""
    samples = []
    for _ in range(_ASKED):
        began, ours = time.perf_counter(), time.time()
        ((theirs,),) = await _ask(session, _CLOCK)
        took = time.perf_counter() - began
        samples.append((took, theirs / 1000 - (ours + took / 2)))
    return min(samples)


async def _ask(session: Any, text: str) -> list[Any]:
    found = await session.execute(acsylla.create_statement(text))
    return [row.as_tuple() for row in found.all()]

"""What can be found out about the cluster that the Log is on, for whoever looks after it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import acsylla
import msgspec
from acsylla import errors
from msgspec.structs import replace

from waypost.adapters.cassandra import schema
from waypost.adapters.cassandra.address import Address
from waypost.adapters.cassandra.keyspace import opened, translated

_NODE = "SELECT release_version, data_center FROM system.local"
_PEERS = "SELECT data_center FROM system.peers"
_CLOCK = "SELECT toUnixTimestamp(now()) FROM system.local"
_SCYLLA = "SELECT version FROM system.versions WHERE key = 'local'"
_REPLICATION = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = '{keyspace}'"
_ASKED = 5


class Facts(msgspec.Struct, frozen=True, kw_only=True):
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
    round_trip: float
    """Seconds, the quickest of some."""
    skew: float
    """Seconds that its clock is ahead of ours, give or take half a round trip."""


async def learn(address: Address) -> Facts:
    """Raises Unavailable if nobody answers, WrongSchema if the schema is not the one this code was made for."""
    alone = replace(address, consistency="LOCAL_ONE")  # also where too few copies are there for anything else
    session = await opened(alone, address.keyspace)
    try:
        await schema.check(session)
        ((release, centre),) = await _ask(session, _NODE)
        scylla = await _scylla(session)
        ((replication,),) = await _ask(session, _REPLICATION.format(keyspace=address.keyspace))
        nodes = [centre, *(row[0] for row in await _ask(session, _PEERS))]
        round_trip, skew = await _timed(session)
    except errors.CassException as error:
        raise translated(error) from error
    finally:
        await session.close()
    told = dict(replication)
    return Facts(
        product="ScyllaDB" if scylla else "Cassandra",
        version=scylla or release,
        centre=centre,
        nodes={name: nodes.count(name) for name in sorted(set(nodes))},
        strategy=told.pop("class").rpartition(".")[2],
        copies={name: int(count) for name, count in told.items() if count.isdecimal()},
        round_trip=round_trip,
        skew=skew,
    )


async def _scylla(session: Any) -> str:
    """Its version; Cassandra has no such table."""
    try:
        ((version,),) = await _ask(session, _SCYLLA)
    except (errors.CassErrorServerInvalidQuery, ValueError):
        return ""
    return str(version)


async def _timed(session: Any) -> tuple[float, float]:
    """Of the quickest question: its time, and how far the clocks are apart in the middle of it."""
    tries = []
    for _ in range(_ASKED):
        began, ours = time.perf_counter(), time.time()
        ((theirs,),) = await _ask(session, _CLOCK)
        took = time.perf_counter() - began
        tries.append((took, theirs / 1000 - (ours + took / 2)))
    return min(tries)


async def _ask(session: Any, text: str) -> list[Any]:
    found = await session.execute(acsylla.create_statement(text))
    return [row.as_tuple() for row in found.all()]

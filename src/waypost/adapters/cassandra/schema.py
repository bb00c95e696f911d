"""The schema of the history keyspace: its version, and its migrations."""

from __future__ import annotations

import asyncio
import re
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import acsylla
from acsylla import errors

from waypost.adapters.cassandra.address import CassandraAddress
from waypost.adapters.cassandra.statements import PACKAGE
from waypost.ports.platform.failure import LedgerError, Unavailable

_ASKED = "SELECT version FROM waypost_schema WHERE part = 'log'"
_VERSIONS = "CREATE TABLE IF NOT EXISTS waypost_schema (part text PRIMARY KEY, version int)"
_MOVED = "INSERT INTO waypost_schema (part, version) VALUES ('log', {version})"
_NODES = "SELECT count(*) FROM system.peers"


class CassandraMigration(NamedTuple):
    version: int
    name: str
    statements: tuple[str, ...]


class WrongHistorySchema(LedgerError):
    """The history schema is not the version that this code needs."""


def missing(keyspace: str) -> WrongHistorySchema:
    return WrongHistorySchema(f"the history store has no keyspace {keyspace}: run `waypost migrate` first")


@cache
def migrations() -> tuple[CassandraMigration, ...]:
    """Oldest first, numbered 1, 2, 3 without a gap. Each statement can be repeated, since there are no transactions."""
    folder = files(PACKAGE).joinpath("migrations")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".cql"))
    found = [CassandraMigration(int(name[:4]), name[5:-4], _split(folder.joinpath(name).read_text())) for name in names]
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"{PACKAGE}: migrations must be numbered 1, 2, 3 without a gap: {names}")
    return tuple(found)


def _split(text: str) -> tuple[str, ...]:
    bare = re.sub(r"^--.*$", "", text, flags=re.MULTILINE)
    return tuple(statement.strip() for statement in bare.split(";") if statement.strip())


async def version(session: Any) -> int:
    """0 if no migration was ever applied."""
    try:
        found = (await session.execute(acsylla.create_statement(_ASKED))).first()
    except errors.CassErrorServerInvalidQuery:
        return 0
    return int(found.column_value_by_index(0)) if found is not None else 0


async def check(session: Any) -> None:
    """Raise WrongHistorySchema if the schema is too old or too new."""
    require_current(await version(session), len(await asyncio.to_thread(migrations)))


def require_current(found: int, known: int) -> None:
    if found > known:
        raise WrongHistorySchema(
            f"the history store has schema {found}, this Waypost knows {known}: run a newer Waypost"
        )
    if found < known:
        raise WrongHistorySchema(
            f"the history store has schema {found}, this Waypost needs {known}: run `waypost migrate` first"
        )


async def migrate(session: Any, address: CassandraAddress) -> list[str]:
    """Create the keyspace and apply missing migrations; `session` has no keyspace. Returns the migrations' names."""
    known = await asyncio.to_thread(migrations)
    try:
        await _make_keyspace(session, address)
        await session.set_keyspace(address.keyspace)
        await _run(session, _VERSIONS)
        at = await version(session)
        if at > len(known):
            require_current(at, len(known))
        for migration in known[at:]:
            for statement in migration.statements:
                await _run(session, statement)
            await _run(session, _MOVED.format(version=migration.version))
    except errors.CassException as error:
        raise Unavailable(f"Cassandra refuses the history schema: {error}") from error
    return [migration.name for migration in known[at:]]


async def _make_keyspace(session: Any, address: CassandraAddress) -> None:
    """An existing keyspace keeps its replication: changing it moves data, which is an operator's decision."""
    if address.keyspace in session.get_metadata().get_keyspaces():
        return
    peers = (await session.execute(acsylla.create_statement(_NODES))).first().column_value_by_index(0)
    wanted = max(address.copies.values())
    if wanted > peers + 1:
        raise WrongHistorySchema(
            f"a keyspace with {wanted} copies needs as many nodes, but there are {peers + 1}: "
            f"add nodes, or put replication={peers + 1} into WAYPOST_HISTORY_URL"
        )
    copies = ", ".join(f"'{centre}': {count}" for centre, count in address.copies.items())
    strategy = f"{{'class': 'NetworkTopologyStrategy', {copies}}}"
    await _run(session, f"CREATE KEYSPACE IF NOT EXISTS {address.keyspace} WITH replication = {strategy}")


async def _run(session: Any, text: str) -> None:
    await session.execute(acsylla.create_statement(text))

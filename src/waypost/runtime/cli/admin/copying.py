"""`waypost admin copy`: copies one database into another and shows the progress."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec

from waypost.adapters.postgres import copy_target
from waypost.adapters.postgres.copy_target import DatabaseSource, DatabaseTarget
from waypost.adapters.postgres.schema import SchemaConnection
from waypost.adapters.sql.engine.copying import (
    MOVED,
    CopyColumn,
    CopyRefused,
    CopySource,
    CopyTable,
    TableChecksum,
    added,
    as_stored,
    rows,
)
from waypost.adapters.sql.engine.migrations import WrongSchema
from waypost.adapters.sqlite.backup import FileSource, open_exclusively
from waypost.runtime.cli.admin.copy_progress import ProgressDisplay, shown
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.wiring.wiring import sqlite_path

_ORGS = "SELECT id, created_at FROM org ORDER BY id"
_SIGNS_OF_LIFE = (
    _ORGS,
    "SELECT id, open_total, ticked_at FROM door ORDER BY id",
    "SELECT name, at FROM sign ORDER BY name",
)
"""Rows that every running server changes soon after its start."""


class CopyFrom(msgspec.Struct, frozen=True, kw_only=True):
    source: CopySource
    selected: Callable[[CopyColumn], str]


class CopyResult(msgspec.Struct, frozen=True, kw_only=True):
    sums: dict[str, TableChecksum]
    resumed: bool
    """An earlier run had started it."""


async def copy(settings: Settings, to: str, *, batch: int, anew: bool) -> CopyResult:
    """Continues an interrupted run; raises CopyRefused or DatabaseInUse with one line that says what to do."""
    async with _from(settings) as origin, copy_target.connected(to) as connection:
        target = DatabaseTarget(connection)
        await _require_unmoved(origin.source, target, anew=anew)  # first: a server may already run on a finished copy
        known = await _fit(connection)
        begun = await target.begin(await _fingerprint(origin.source), known, anew=anew)
        await connection.execute("SET synchronous_commit = off")  # what a crash loses is copied again
        with shown() as bar:
            for table in known:
                await _one(origin, target, table, begun.get(table.name), batch, bar)
            sums = await _compared(origin, DatabaseSource(connection), known, batch, bar)
        await target.compared()
        await origin.source.move()  # before a server can start on the target, so that two never run at once
        await target.finish()
        return CopyResult(sums=sums, resumed=bool(begun))


def _from(settings: Settings) -> AbstractAsyncContextManager[CopyFrom]:
    path = sqlite_path(settings.database_url)

    @asynccontextmanager
    async def file() -> AsyncIterator[CopyFrom]:
        if path is None or not path.exists():
            raise CopyRefused(f"there is no database at {path}: set WAYPOST_DATABASE_URL")
        with open_exclusively(path) as connection:
            yield CopyFrom(source=FileSource(connection), selected=as_stored)

    @asynccontextmanager
    async def database() -> AsyncIterator[CopyFrom]:
        async with copy_target.connected(settings.database_url) as connection:
            await copy_target.require_schema(connection)
            await copy_target.require_exclusive_use(connection)
            yield CopyFrom(source=DatabaseSource(connection), selected=copy_target.selected)

    return database() if path is None else file()


async def _fit(connection: SchemaConnection) -> Sequence[CopyTable]:
    """The tables of a target that a copy may fill."""
    try:
        await copy_target.require_schema(connection)
    except WrongSchema as wrong:
        raise CopyRefused(f"the target: {wrong}, with WAYPOST_DATABASE_URL naming the target") from wrong
    await copy_target.require_exclusive_use(connection)
    return await copy_target.tables(connection)


async def _require_unmoved(source: CopySource, target: DatabaseTarget, *, anew: bool) -> None:
    """A source that was marked as copied may only be completed if the run stopped in its last step."""
    if not await source.moved() or (not anew and await target.is_whole()):
        return
    if await target.has(await source.fetch(_ORGS)):
        raise CopyRefused("this copy is finished: set WAYPOST_DATABASE_URL to the target and start the server there")
    raise CopyRefused(MOVED)


async def _fingerprint(source: CopySource) -> str:
    """Identifies the database and its state, to notice a server that ran between two runs of the copy."""
    found: list[Any] = [await source.fetch(text) for text in _SIGNS_OF_LIFE]
    return hashlib.sha256(msgspec.json.encode(found)).hexdigest()


async def _one(
    origin: CopyFrom,
    target: DatabaseTarget,
    table: CopyTable,
    begun: copy_target.Progress | None,
    batch: int,
    bar: ProgressDisplay,
) -> None:
    progress = begun or copy_target.Progress()
    if progress.done:
        return
    ((total,),) = await origin.source.fetch(f"SELECT count(*) FROM {table.name}")  # noqa: S608  # a table of ours
    bar.begin(table.name, total, progress.rows)
    async for found in rows(origin.source, table, progress.after, batch, origin.selected):
        progress = await target.put(table, found, progress)
        bar.at(progress.rows)
    last = await origin.source.numbering(table.name) if table.numbered else None
    await target.done(table, progress, last)
    bar.end()


async def _compared(
    origin: CopyFrom, copied: CopySource, known: Sequence[CopyTable], batch: int, bar: ProgressDisplay
) -> dict[str, TableChecksum]:
    bar.begin("comparing", len(known))
    sums: dict[str, TableChecksum] = {}
    for table in known:
        there = await _sum(copied, table, copy_target.selected, batch)
        here = await _sum(origin.source, table, origin.selected, batch)
        if here != there:
            raise CopyRefused(
                f"the copy of {table.name} is not the same ({here}; copied: {there}): was the source written to "
                "meanwhile? Begin again with --anew"
            )
        sums[table.name] = here
        bar.at(len(sums))
    bar.end()
    return sums


async def _sum(
    source: CopySource, table: CopyTable, selected: Callable[[CopyColumn], str], batch: int
) -> TableChecksum:
    found = TableChecksum()
    async for some in rows(source, table, None, batch, selected):
        found = added(found, some)
    return found

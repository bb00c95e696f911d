"""`waypost admin copy`: everything of one database into another, with a bar that shows how far it is."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec

from waypost.adapters.postgres import whole_database
from waypost.adapters.postgres.schema import Connection
from waypost.adapters.postgres.whole_database import DatabaseSource, DatabaseTarget
from waypost.adapters.sql.copying import MOVED, Column, CopyRefused, Source, Sum, Table, added, as_stored, rows
from waypost.adapters.sql.migrations import WrongSchema
from waypost.adapters.sqlite.whole_file import FileSource, alone
from waypost.runtime.copy_progress import Shown, shown
from waypost.runtime.settings import Settings
from waypost.runtime.wiring import sqlite_path

_ORGS = "SELECT id, created_at FROM org ORDER BY id"
_SIGNS_OF_LIFE = (
    _ORGS,
    "SELECT id, open_total, ticked_at FROM door ORDER BY id",
    "SELECT name, at FROM sign ORDER BY name",
)
"""What every server changes that runs for more than a moment."""


class From(msgspec.Struct, frozen=True, kw_only=True):
    source: Source
    selected: Callable[[Column], str]


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    sums: dict[str, Sum]
    resumed: bool
    """An earlier run had begun it."""


async def copy(settings: Settings, to: str, *, batch: int, anew: bool) -> Copied:
    """Raises CopyRefused, or InUse, with one line that says what to do; a run that was cut goes on where it was."""
    async with _from(settings) as origin, whole_database.connected(to) as connection:
        target = DatabaseTarget(connection)
        await _require_unmoved(origin.source, target, anew=anew)  # first: a server may run on what is finished
        known = await _fit(connection)
        begun = await target.begin(await _fingerprint(origin.source), known, anew=anew)
        await connection.execute("SET synchronous_commit = off")  # what a crash takes back is copied again
        with shown() as bar:
            for table in known:
                await _one(origin, target, table, begun.get(table.name), batch, bar)
            sums = await _compared(origin, DatabaseSource(connection), known, batch, bar)
        await target.compared()
        await origin.source.move()  # before a server can start on the other: at no moment both would
        await target.finish()
        return Copied(sums=sums, resumed=bool(begun))


def _from(settings: Settings) -> AbstractAsyncContextManager[From]:
    path = sqlite_path(settings.database_url)

    @asynccontextmanager
    async def file() -> AsyncIterator[From]:
        if path is None or not path.exists():
            raise CopyRefused(f"there is no database at {path}: name it in WAYPOST_DATABASE_URL")
        with alone(path) as connection:
            yield From(source=FileSource(connection), selected=as_stored)

    @asynccontextmanager
    async def database() -> AsyncIterator[From]:
        async with whole_database.connected(settings.database_url) as connection:
            await whole_database.require_schema(connection)
            await whole_database.require_alone(connection)
            yield From(source=DatabaseSource(connection), selected=whole_database.selected)

    return database() if path is None else file()


async def _fit(connection: Connection) -> Sequence[Table]:
    """The tables of a target that may be copied into."""
    try:
        await whole_database.require_schema(connection)
    except WrongSchema as wrong:
        raise CopyRefused(f"the target: {wrong}, with WAYPOST_DATABASE_URL naming the target") from wrong
    await whole_database.require_alone(connection)
    return await whole_database.tables(connection)


async def _require_unmoved(source: Source, target: DatabaseTarget, *, anew: bool) -> None:
    """What was moved may only be finished where it was cut in its last step."""
    if not await source.moved() or (not anew and await target.is_whole()):
        return
    if await target.has(await source.fetch(_ORGS)):
        raise CopyRefused("this copy is finished: name the target in WAYPOST_DATABASE_URL and start the server there")
    raise CopyRefused(MOVED)


async def _fingerprint(source: Source) -> str:
    """Of the database and of its state: a server that ran between two runs of the copy is noticed."""
    found: list[Any] = [await source.fetch(text) for text in _SIGNS_OF_LIFE]
    return hashlib.sha256(msgspec.json.encode(found)).hexdigest()


async def _one(
    origin: From,
    target: DatabaseTarget,
    table: Table,
    begun: whole_database.Progress | None,
    batch: int,
    bar: Shown,
) -> None:
    progress = begun or whole_database.Progress()
    if progress.done:
        return
    ((total,),) = await origin.source.fetch(f"SELECT count(*) FROM {table.name}")  # noqa: S608  # our own table
    bar.begin(table.name, total, progress.rows)
    async for found in rows(origin.source, table, progress.after, batch, origin.selected):
        progress = await target.put(table, found, progress)
        bar.at(progress.rows)
    last = await origin.source.numbering(table.name) if table.numbered else None
    await target.done(table, progress, last)
    bar.end()


async def _compared(origin: From, copied: Source, known: Sequence[Table], batch: int, bar: Shown) -> dict[str, Sum]:
    bar.begin("comparing", len(known))
    sums: dict[str, Sum] = {}
    for table in known:
        there = await _sum(copied, table, whole_database.selected, batch)
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


async def _sum(source: Source, table: Table, selected: Callable[[Column], str], batch: int) -> Sum:
    found = Sum()
    async for some in rows(source, table, None, batch, selected):
        found = added(found, some)
    return found

"""A SQLite file as a whole: backup while servers write, exclusive use, restore, and the source of a copy."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw

from waypost.adapters.sql.engine.migrations import require_current
from waypost.adapters.sql.engine.upkeep import DatabaseInUse, RestoreOptions, RestoreResult, statements
from waypost.adapters.sqlite.store import BUSY_MS, IS_A_COPY, IS_MOVED, PACKAGE
from waypost.ports.platform.failure import Unavailable

_BROKEN = (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.NotADBError, apsw.CorruptError)
_NUMBERED = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'"


def back_up(path: Path, copy: Path) -> int:
    """Write a snapshot of the file to `copy`, which must not exist; returns its size in bytes.

    Servers may go on writing. The copy is checked and marked as a copy; if that fails, it is deleted.
    """
    copy.touch(mode=0o600, exist_ok=False)
    try:
        with _translated(path), closing(_opened(path)) as source:
            source.execute("VACUUM INTO ?", (str(copy),)).fetchall()
        with _translated(copy), closing(_opened(copy)) as made:
            if wrong := integrity(made):
                raise Unavailable(f"the copy is damaged: {wrong}")
            made.execute(f"PRAGMA application_id = {IS_A_COPY}").fetchall()
        _on_disk(copy)
    except BaseException:
        copy.unlink()
        raise
    return copy.stat().st_size


def _on_disk(copy: Path) -> None:
    for place in (copy, copy.parent):
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def integrity(connection: apsw.Connection) -> str | None:
    """The first error that SQLite finds in the file, or None."""
    try:
        found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")]
    except apsw.CorruptError as error:  # too damaged for the check itself
        return str(error)
    return None if found == ["ok"] else found[0]


def _opened(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(BUSY_MS)
    return connection


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise DatabaseInUse(f"another program has {path} open: stop the servers that use it") from error
    except _BROKEN as error:
        raise Unavailable(f"SQLite cannot use {path}: {error}") from error


@contextmanager
def open_exclusively(path: Path) -> Iterator[apsw.Connection]:
    """Open the file exclusively: fails if another program has it open, and keeps others out.

    This relies on SQLite's own lock, which every connection holds while it is open.
    """
    with _translated(path), closing(_opened(path)) as connection:
        connection.set_busy_timeout(500)  # longer than a read-only command takes
        connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        connection.execute("BEGIN IMMEDIATE; COMMIT").fetchall()
        ((version,),) = connection.execute("PRAGMA user_version")
        require_current(PACKAGE, int(version))
        yield connection


def restore(path: Path, restoring: RestoreOptions) -> RestoreResult:
    """Run the statements of waypost.adapters.sql.engine.upkeep; all or nothing."""
    counts = {}
    with open_exclusively(path) as connection, connection:
        there = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        for each in statements(restoring, there):
            connection.execute(each.text).fetchall()
            counts[each.name] = connection.changes()
        for (table,) in connection.execute(_NUMBERED).fetchall():
            _skip(connection, str(table), restoring.ids)
        connection.execute("PRAGMA application_id = 0").fetchall()
    return RestoreResult(counts=counts)


def _skip(connection: apsw.Connection, table: str, ids: int) -> None:
    changed = "UPDATE sqlite_sequence SET seq = seq + ? WHERE name = ? RETURNING seq"
    if not connection.execute(changed, (ids, table)).fetchall():
        connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, ids))


class FileSource:
    """The source of a copy; no other connection writes meanwhile."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    async def fetch(self, text: str, arguments: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(text, tuple(arguments)).fetchall()

    async def numbering(self, table: str) -> int:
        """The highest id ever assigned in a table that generates its ids."""
        known = "SELECT seq FROM sqlite_sequence WHERE name = ?"
        found: Any = self._connection.execute(known, (table,)).get
        if found is None:
            found = self._connection.execute(f"SELECT coalesce(max(id), 0) FROM {table}").get  # noqa: S608  # our own table
        return int(found)

    async def moved(self) -> bool:
        mark: Any = self._connection.execute("PRAGMA application_id").get
        return int(mark) == IS_MOVED

    async def move(self) -> None:
        self._connection.execute(f"PRAGMA application_id = {IS_MOVED}").fetchall()

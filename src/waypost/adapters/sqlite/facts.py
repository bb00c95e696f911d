"""Facts about a SQLite file and its folder, for `waypost doctor`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import apsw
import msgspec

from waypost.adapters.sql.engine.migrations import pending
from waypost.adapters.sqlite.backup import integrity
from waypost.adapters.sqlite.store import BUSY_MS, IS_A_COPY, IS_MOVED, PACKAGE
from waypost.ports.platform.failure import Unavailable

_REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs"})


class SqliteFacts(msgspec.Struct, frozen=True, kw_only=True):
    version: str
    journal: str
    schema: int
    missing: Sequence[str]
    """Migrations that the next start, or `waypost migrate`, applies."""
    is_a_copy: bool
    is_moved: bool = False
    """`waypost admin copy` has copied it to another database."""
    damage: str | None
    size: int
    wal: int
    """Bytes not yet checkpointed into the file."""


def facts(path: Path) -> SqliteFacts:
    """Changes nothing; raises Unavailable for a file that is not a database."""
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(BUSY_MS)
            schema, mark = (_number(connection, name) for name in ("user_version", "application_id"))
            return SqliteFacts(
                version=apsw.sqlite_lib_version(),
                journal=str(connection.execute("PRAGMA journal_mode").get),
                schema=schema,
                missing=[each.name for each in pending(PACKAGE, schema)],
                is_a_copy=mark == IS_A_COPY,
                is_moved=mark == IS_MOVED,
                damage=integrity(connection),
                size=path.stat().st_size,
                wal=_size(path.with_name(path.name + "-wal")),
            )
    except apsw.Error as error:
        raise Unavailable(f"SQLite cannot use {path}: {error}") from error


def _number(connection: apsw.Connection, pragma: str) -> int:
    ((value,),) = connection.execute(f"PRAGMA {pragma}").fetchall()
    return int(str(value))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


class PathFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A file or folder that Waypost uses."""

    path: Path
    writable: bool
    readable_by_others: bool
    free: int
    total: int
    remote: str | None
    """The file system type, if it is a network file system."""


def place(path: Path) -> PathFacts:
    disk = shutil.disk_usage(path)
    return PathFacts(
        path=path,
        writable=os.access(path, os.W_OK),
        readable_by_others=bool(path.stat().st_mode & 0o007),
        free=disk.free,
        total=disk.total,
        remote=_remote(path),
    )


def _remote(path: Path) -> str | None:
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return None
    whole, best, kind = str(path.resolve()), "", ""
    for line in mounts.read_text().splitlines():
        _, point, of, *_ = line.split(" ")
        if (whole == point or whole.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, of
    return kind if kind in _REMOTE else None

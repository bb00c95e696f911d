"""Numbered forward migrations: `0001_what_it_brings.sql`, applied in order, never edited once released.

Running servers continue while the next version's migrations are applied, until they are upgraded. So a migration drops
nothing that the previous version still uses.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from waypost.ports.platform.failure import LedgerError


class Migration(NamedTuple):
    version: int
    name: str
    text: str


class WrongSchema(LedgerError):
    """The database's schema is not the version that this code needs."""


class NewerSchema(WrongSchema):
    """The schema is newer than this code: running servers may continue, but none may start."""


@cache
def migrations(package: str) -> tuple[Migration, ...]:
    """The package's migrations, oldest first, numbered 1, 2, 3 without a gap."""
    names = sorted(e.name for e in files(package).joinpath("migrations").iterdir() if e.name.endswith(".sql"))
    found = [
        Migration(int(name[:4]), name[5:-4], files(package).joinpath("migrations", name).read_text()) for name in names
    ]
    if [m.version for m in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"{package}: migrations must be numbered 1, 2, 3 without a gap: {names}")
    return tuple(found)


def pending(package: str, version: int) -> tuple[Migration, ...]:
    """The migrations that a database at `version` still needs; raises NewerSchema if it is ahead of this code."""
    known = migrations(package)
    if version > len(known):
        raise NewerSchema(f"the database has schema {version}, this Waypost knows {len(known)}: run a newer Waypost")
    return known[version:]


def require_current(package: str, version: int) -> None:
    missing = pending(package, version)
    if missing:
        newest = missing[-1].version
        raise WrongSchema(
            f"the database has schema {version}, this Waypost needs {newest}: run `waypost migrate` first"
        )

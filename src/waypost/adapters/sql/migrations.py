"""Numbered forward migrations: `0001_what_it_brings.sql`, applied in order, never edited once released.

Servers go on while the next version's migrations are applied, until they are renewed: what one of them still uses is
dropped a version later.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from waypost.ports.failure import LedgerError


class Migration(NamedTuple):
    version: int
    name: str
    text: str


class WrongSchema(LedgerError):
    """The database's schema is not the one this code was made for."""


class NewerSchema(WrongSchema):
    """Somebody has brought it further than this code knows: what runs may go on, nothing older may begin."""


@cache
def migrations(package: str) -> tuple[Migration, ...]:
    """The package's migrations, oldest first; they count 1, 2, 3 without a gap."""
    names = sorted(e.name for e in files(package).joinpath("migrations").iterdir() if e.name.endswith(".sql"))
    found = [
        Migration(int(name[:4]), name[5:-4], files(package).joinpath("migrations", name).read_text()) for name in names
    ]
    if [m.version for m in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"{package}: migrations must count 1, 2, 3 without a gap: {names}")
    return tuple(found)


def pending(package: str, version: int) -> tuple[Migration, ...]:
    """What a database at `version` still needs; a database from the future is refused."""
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

"""Copies a database table by table: in key order, in batches, compared at the end."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from waypost.ports.platform.failure import LedgerError

CopiedRow: TypeAlias = tuple[Any, ...]
"""Numbers, texts, bytes and None; a boolean is 0 or 1, the words of a search entry are sorted."""

_WORDS = "tsvector"
_TRUTH = "boolean"


MOVED = (
    "this database was copied to another, which is in use instead: set WAYPOST_DATABASE_URL to that one; "
    "to go back to this one, stop every server on the other, then run `waypost admin restored --hold`"
)
"""Two databases with the same messages would both send the queued ones."""


class CopyRefused(LedgerError):
    """The copy cannot start, continue or be trusted; the message says why."""


class CopyColumn(msgspec.Struct, frozen=True):
    name: str
    type: str
    """PostgreSQL's name of the type."""


class CopyTable(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    columns: tuple[CopyColumn, ...]
    key: tuple[str, ...]
    numbered: bool
    """The table generates its ids."""


class CopySource(Protocol):
    async def fetch(self, text: str, arguments: Sequence[Any] = ()) -> list[CopiedRow]: ...

    async def numbering(self, table: str) -> int: ...

    async def moved(self) -> bool:
        """Whether the database was copied to another one."""
        ...

    async def move(self) -> None:
        """Mark the database as moved: no server starts on it any more."""
        ...


def numbered(position: int) -> str:
    """A placeholder that both databases understand; PostgreSQL infers its type from the comparison."""
    return f"${position}"


def page(table: CopyTable, selected: Callable[[CopyColumn], str], *, first: bool) -> str:
    """A query for the next rows in key order. Both databases compare multi-column keys as tuples."""
    columns = ", ".join(selected(column) for column in table.columns)
    key = ", ".join(table.key)
    after = ", ".join(numbered(n + 1) for n in range(len(table.key)))
    where = "" if first else f"WHERE ({key}) > ({after}) "
    limit = numbered(1 if first else len(table.key) + 1)
    return f"SELECT {columns} FROM {table.name} {where}ORDER BY {key} LIMIT {limit}"  # noqa: S608  # our own tables


def as_stored(column: CopyColumn) -> str:
    return column.name


async def rows(
    source: CopySource,
    table: CopyTable,
    after: Sequence[Any] | None,
    batch: int,
    selected: Callable[[CopyColumn], str] = as_stored,
) -> AsyncIterator[list[CopiedRow]]:
    """Batches of the rows after a key."""
    places = [n for n, column in enumerate(table.columns) if column.name in table.key]
    where = [next(n for n in places if table.columns[n].name == name) for name in table.key]
    words = [n for n, column in enumerate(table.columns) if column.type == _WORDS]
    while True:
        text = page(table, selected, first=after is None)
        found = await source.fetch(text, (*(after or ()), batch))
        if not found:
            return
        after = [found[-1][n] for n in where]
        yield [_sorted(row, words) for row in found] if words else found
        if len(found) < batch:
            return


def key_of(table: CopyTable, row: CopiedRow) -> list[Any]:
    names = [column.name for column in table.columns]
    return [row[names.index(name)] for name in table.key]


def _sorted(row: CopiedRow, words: Sequence[int]) -> CopiedRow:
    return tuple(" ".join(sorted(set(value.split(" ")))) if n in words else value for n, value in enumerate(row))


class TableChecksum(msgspec.Struct, frozen=True):
    """Row count and content hash, independent of the row order."""

    rows: int = 0
    hashes: int = 0

    def __str__(self) -> str:
        return f"{self.rows} rows, {self.hashes:016x}"


def added(sum_: TableChecksum, batch: Sequence[CopiedRow]) -> TableChecksum:
    hashes = sum_.hashes
    for row in batch:
        whole = hashlib.blake2b(msgspec.msgpack.encode(row), digest_size=8).digest()
        hashes += int.from_bytes(whole)
    return TableChecksum(sum_.rows + len(batch), hashes % 2**64)


def is_truth(column: CopyColumn) -> bool:
    return column.type == _TRUTH


def is_words(column: CopyColumn) -> bool:
    return column.type == _WORDS

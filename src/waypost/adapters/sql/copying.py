"""One table at a time from a database to another: in the order of its key, in batches, compared at the end."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from waypost.ports.failure import LedgerError

Row: TypeAlias = tuple[Any, ...]
"""Numbers, texts, bytes and None; a truth value is 0 or 1, the words of an entry are sorted."""

_WORDS = "tsvector"
_TRUTH = "boolean"


MOVED = (
    "this database was copied to another, which is in use instead: name that one in WAYPOST_DATABASE_URL; "
    "to go back to this one, see that no server runs on the other, and say `waypost admin restored --hold`"
)
"""Two databases with the same messages would both send what waits."""


class CopyRefused(LedgerError):
    """The copy cannot begin, go on or be trusted; the message says why."""


class Column(msgspec.Struct, frozen=True):
    name: str
    type: str
    """As PostgreSQL calls it."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    numbered: bool
    """It gives away its ids itself."""


class Source(Protocol):
    async def fetch(self, text: str, arguments: Sequence[Any] = ()) -> list[Row]: ...

    async def numbering(self, table: str) -> int: ...

    async def moved(self) -> bool:
        """Whether everything of it is in another database."""
        ...

    async def move(self) -> None:
        """From now on no server starts on it."""
        ...


def numbered(position: int) -> str:
    """An argument's name that both databases understand; PostgreSQL wants to be told no type where it compares."""
    return f"${position}"


def page(table: Table, selected: Callable[[Column], str], *, first: bool) -> str:
    """The next rows in the order of the key. Both databases compare keys of several columns as a whole."""
    columns = ", ".join(selected(column) for column in table.columns)
    key = ", ".join(table.key)
    after = ", ".join(numbered(n + 1) for n in range(len(table.key)))
    where = "" if first else f"WHERE ({key}) > ({after}) "
    limit = numbered(1 if first else len(table.key) + 1)
    return f"SELECT {columns} FROM {table.name} {where}ORDER BY {key} LIMIT {limit}"  # noqa: S608  # our own tables


def as_stored(column: Column) -> str:
    return column.name


async def rows(
    source: Source, table: Table, after: Sequence[Any] | None, batch: int, selected: Callable[[Column], str] = as_stored
) -> AsyncIterator[list[Row]]:
    """Batches of what comes after a key, each in the form of Row."""
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


def key_of(table: Table, row: Row) -> list[Any]:
    names = [column.name for column in table.columns]
    return [row[names.index(name)] for name in table.key]


def _sorted(row: Row, words: Sequence[int]) -> Row:
    return tuple(" ".join(sorted(set(value.split(" ")))) if n in words else value for n, value in enumerate(row))


class Sum(msgspec.Struct, frozen=True):
    """How many rows, and what they are: the same whatever order they come in."""

    rows: int = 0
    hashes: int = 0

    def __str__(self) -> str:
        return f"{self.rows} rows, {self.hashes:016x}"


def added(sum_: Sum, batch: Sequence[Row]) -> Sum:
    hashes = sum_.hashes
    for row in batch:
        whole = hashlib.blake2b(msgspec.msgpack.encode(row), digest_size=8).digest()
        hashes += int.from_bytes(whole)
    return Sum(sum_.rows + len(batch), hashes % 2**64)


def is_truth(column: Column) -> bool:
    return column.type == _TRUTH


def is_words(column: Column) -> bool:
    return column.type == _WORDS

"""The columns of a batch as array literals: the driver checks the type of every element of an array that it encodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from waypost.adapters.sql.plan import Each
from waypost.adapters.sql.statements import Statement

Column: TypeAlias = Sequence[Any]

_ARGUMENT = re.compile(r"\$(\d+)")
_ARRAY = re.compile(r"\$(\d+)::(\w+)\[\]")


class SetWise(NamedTuple):
    """One statement for all rows of a batch: its text, and how each column is written."""

    text: str
    columns: tuple[Callable[[Column], object], ...]

    def arguments(self, writes: Sequence[Each]) -> list[object]:
        columns = [column for write in writes for column in zip(*write.rows, strict=True)]
        return [written(column) for written, column in zip(self.columns, columns, strict=True)]


def numbers(column: Column) -> str:
    return f"{{{msgspec.json.encode(column)[1:-1].decode()}}}"


def texts(column: Column) -> str:
    """All at once. No text in a database holds a NUL, so it can stand for the border between two of them."""
    if None in column:
        return _one_by_one(column)
    whole = "\0".join(column)
    if whole.count("\0") != len(column) - 1:
        return _one_by_one(column)  # and the database says what is wrong with it
    return '{"' + _escaped(whole).replace("\0", '","') + '"}'


def _one_by_one(column: Column) -> str:
    return "{" + ",".join("NULL" if text is None else f'"{_escaped(text)}"' for text in column) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


_WRITTEN: Mapping[str, Callable[[Column], object]] = {
    "text": texts,
    **dict.fromkeys(("bigint", "integer", "smallint", "boolean"), numbers),
}
"""By type; any other goes as the array it is."""


def set_wise(statement: Statement) -> SetWise:
    kinds = dict(_ARRAY.findall(statement.text))
    text = _ARRAY.sub(
        lambda found: f"${found[1]}::{'text::' if found[2] in _WRITTEN else ''}{found[2]}[]", statement.text
    )
    return SetWise(text, tuple(_WRITTEN.get(kinds[str(n)], list) for n in range(1, len(kinds) + 1)))


def at_once(writes: Sequence[SetWise]) -> SetWise:
    """Set-wise writes as one statement, their arguments numbered on."""
    parts, taken = [], 0
    for number, write in enumerate(writes):
        shifted = _ARGUMENT.sub(lambda found, by=taken: f"${int(found[1]) + by}", write.text)  # type: ignore[misc]  # bound now
        parts.append(f"w{number} AS (\n{shifted}\n)")
        taken += len(write.columns)
    columns = tuple(column for write in writes for column in write.columns)
    return SetWise(f"WITH {', '.join(parts)} SELECT 1 WHERE FALSE", columns)


class Batches:
    """Every set-wise statement of a dialect, and what was made of several of them."""

    def __init__(self, statements: Mapping[str, Statement]) -> None:
        self._single = {name: set_wise(statement) for name, statement in statements.items() if statement.set_wise}
        self._made: dict[tuple[str, ...], SetWise] = {}

    def of(self, name: str) -> SetWise | None:
        """None for one that goes row by row."""
        return self._single.get(name)

    def together(self, *names: str) -> SetWise:
        if names not in self._made:
            self._made[names] = at_once([self._single[name] for name in names])
        return self._made[names]

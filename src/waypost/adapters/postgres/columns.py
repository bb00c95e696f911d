"""The columns of a batch as array literals, because the driver's array encoding checks each element's type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from waypost.adapters.sql.engine.plan import AllOf, AtOnce, Each, Once, Together
from waypost.adapters.sql.engine.statements import SqlStatement

ColumnValues: TypeAlias = Sequence[Any]

_ARGUMENT = re.compile(r"\$(\d+)")
_ARRAY = re.compile(r"\$(\d+)::(\w+)\[\]")


class SetWise(NamedTuple):
    """One statement for all rows of a batch: its text, and the encoder of each column."""

    text: str
    columns: tuple[Callable[[ColumnValues], object], ...]

    def arguments(self, writes: Sequence[Each]) -> list[object]:
        columns = [column for write in writes for column in zip(*write.rows, strict=True)]
        return [written(column) for written, column in zip(self.columns, columns, strict=True)]


def numbers(column: ColumnValues) -> str:
    return f"{{{msgspec.json.encode(column)[1:-1].decode()}}}"


def texts(column: ColumnValues) -> str:
    """Escape all texts at once. No text in PostgreSQL contains NUL, so NUL can separate them."""
    if None in column:
        return _one_by_one(column)
    whole = "\0".join(column)
    if whole.count("\0") != len(column) - 1:
        return _one_by_one(column)  # PostgreSQL rejects the NUL with its own error
    return '{"' + _escaped(whole).replace("\0", '","') + '"}'


def _one_by_one(column: ColumnValues) -> str:
    return "{" + ",".join("NULL" if text is None else f'"{_escaped(text)}"' for text in column) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


_WRITTEN: Mapping[str, Callable[[ColumnValues], object]] = {
    "text": texts,
    **dict.fromkeys(("bigint", "integer", "smallint", "boolean"), numbers),
}
"""By type; other types are passed as arrays."""


def set_wise(statement: SqlStatement) -> SetWise:
    kinds = dict(_ARRAY.findall(statement.text))
    text = _ARRAY.sub(
        lambda found: f"${found[1]}::{'text::' if found[2] in _WRITTEN else ''}{found[2]}[]", statement.text
    )
    return SetWise(text, tuple(_WRITTEN.get(kinds[str(n)], list) for n in range(1, len(kinds) + 1)))


def _parts(names: Sequence[str], writes: Sequence[SetWise]) -> tuple[str, tuple[Callable[[ColumnValues], object], ...]]:
    """Set-wise statements as named CTEs, with their arguments renumbered."""
    parts, taken = [], 0
    for name, write in zip(names, writes, strict=True):
        shifted = _ARGUMENT.sub(lambda found, by=taken: f"${int(found[1]) + by}", write.text)  # type: ignore[misc]  # bound now
        parts.append(f"{name} AS (\n{shifted}\n)")
        taken += len(write.columns)
    return ", ".join(parts), tuple(column for write in writes for column in write.columns)


def together(names: Sequence[str], writes: Sequence[SetWise], asked: str | None = None) -> SetWise:
    parts, columns = _parts(names, writes)
    answer = f"SELECT * FROM {asked}" if asked else "SELECT 1 WHERE FALSE"  # noqa: S608  # our own statement
    return SetWise(f"WITH {parts} {answer}", columns)


def all_of(names: Sequence[str], steps: Sequence[SetWise], reads: int) -> SetWise:
    """The last `reads` statements are reads: each result row carries the index of its read and its values."""
    parts, columns = _parts(names, steps)
    read = enumerate(names[-reads:])
    rows = " UNION ALL ".join(f"SELECT {n}, ROW({name}.*) FROM {name}" for n, name in read)  # noqa: S608  # our own names
    return SetWise(f"WITH {parts} {rows}", columns)


def at_once(names: Sequence[str], writes: Sequence[SetWise], certain: int, asked: str) -> SetWise:
    """See `AtOnce`; the first `certain` statements are checked, and the last argument is their total row count.

    A mismatch divides by zero, which undoes everything. PostgreSQL evaluates the condition before it writes anything
    else, because it depends on no row.
    """
    parts, columns = _parts(names, writes)
    found = " + ".join(f"(SELECT count(*) FROM {name})" for name in names[:certain])  # noqa: S608  # our own names
    sure = f"1 / (CASE WHEN {found} = ${len(columns) + 1}::bigint THEN 1 ELSE 0 END) = 1"
    return SetWise(f"WITH {parts} SELECT * FROM {asked} WHERE {sure}", columns)  # noqa: S608  # our own statements


class Batches:
    """Every set-wise statement of a dialect, and the combinations built so far."""

    def __init__(self, statements: Mapping[str, SqlStatement]) -> None:
        self._statements = statements
        self._single = {name: set_wise(statement) for name, statement in statements.items() if statement.set_wise}
        self._made: dict[tuple[tuple[str, ...], int], SetWise] = {}

    def of(self, name: str) -> SetWise | None:
        """None for a statement that runs row by row."""
        return self._single.get(name)

    def together(self, step: Together) -> SetWise:
        names = tuple(write.statement for write in step.writes)
        if (names, 0) not in self._made:
            self._made[names, 0] = together(names, [self._single[name] for name in names], step.asked)
        return self._made[names, 0]

    def all_of(self, step: AllOf) -> tuple[SetWise, list[object]]:
        """The statement and its arguments."""
        asked = [*step.writes, *step.reads]
        names = tuple(each.statement for each in asked)
        key = (names, -len(step.reads))
        if key not in self._made:
            self._made[key] = all_of(names, [self._any(name) for name in names], len(step.reads))
        arguments: list[object] = []
        for each in asked:
            arguments += each.arguments if isinstance(each, Once) else self._any(each.statement).arguments((each,))
        return self._made[key], arguments

    def _any(self, name: str) -> SetWise:
        """A statement that runs once takes its arguments unchanged."""
        if name in self._single:
            return self._single[name]
        text = self._statements[name].text
        return SetWise(text, (list,) * len(set(_ARGUMENT.findall(text))))

    def at_once(self, step: AtOnce) -> SetWise:
        names = tuple(write.statement for write in (*step.certain, *step.writes))
        certain = len(step.certain)
        if (names, certain) not in self._made:
            writes = [self._single[name] for name in names]
            self._made[names, certain] = at_once(names, writes, certain, step.asked)
        return self._made[names, certain]

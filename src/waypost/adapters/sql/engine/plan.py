"""A transaction as a generator: it yields named statements and receives their rows.

The same plan runs on SQLite, statement by statement in a thread, and on PostgreSQL, set-wise over a connection. So
lock order, decisions and writes are written once, and an engine only runs named statements.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

Row: TypeAlias = Sequence[Any]
T = TypeVar("T")


class Each(NamedTuple):
    """Run the statement for every row of arguments, in order; returns all resulting rows as one list.

    An engine may run it set-wise, so a statement that returns rows must return their keys too.
    """

    statement: str
    rows: Sequence[Row]


class Once(NamedTuple):
    """Run the statement once with these arguments."""

    statement: str
    arguments: Row = ()


class Together(NamedTuple):
    """Independent writes to different tables: an engine may run them in one round trip.

    Only the numbers drawn by `feed_draw` are visible to later writes. Returns the rows of the `asked` write.
    """

    writes: Sequence[Each]
    asked: str | None = None


class AllOf(NamedTuple):
    """Independent reads, and writes to other tables: an engine may run them in one round trip.

    Returns one list per read, in order; the reads take their locks in that order.
    """

    reads: Sequence[Each | Once]
    writes: Sequence[Each] = ()


class AtOnce(NamedTuple):
    """A transaction in one statement, for engines that support it: writes only if the rows read before are unchanged.

    Each of `certain` must return as many rows as it is given; otherwise nothing is written and nothing is returned.
    Else it returns the rows of the `asked` write, at least one. All are set-wise and may use earlier ones as tables.
    """

    certain: Sequence[Each]
    writes: Sequence[Each]
    asked: str


Step: TypeAlias = Each | Once | Together | AllOf | AtOnce
Plan: TypeAlias = Generator[Step, list[Row], T]


def together(*writes: Plan[list[Row]]) -> Plan[None]:
    """Run those of several `each` that have rows to write, and discard what they return."""
    steps = some(*writes)
    if len(steps) == 1:
        yield steps[0]
    elif steps:
        yield Together(steps)


def some(*writes: Plan[list[Row]]) -> list[Each]:
    """Those of several `each` that have rows to write."""
    return [step for write in writes for step in _first(write)]


def read_all(*reads: Each | Once, writes: Sequence[Each] = ()) -> Plan[list[list[Row]]]:
    """Run `AllOf` and return one list per read; a read without arguments is skipped."""
    asked = [read for read in reads if isinstance(read, Once) or read.rows]
    if not asked:
        for write in writes:
            yield from each(*write)
        return [[] for _ in reads]
    found = yield AllOf(asked, [write for write in writes if write.rows])
    answers = iter(found)
    return [list(next(answers)) if isinstance(read, Once) or read.rows else [] for read in reads]


def _first(write: Plan[list[Row]]) -> list[Each]:
    step = next(write, None)
    write.close()
    return [step] if isinstance(step, Each) else []


def each(statement: str, rows: Sequence[Row]) -> Plan[list[Row]]:
    """Run `Each` and return its rows; without arguments there is no round trip."""
    if not rows:
        return []
    return (yield Each(statement, rows))

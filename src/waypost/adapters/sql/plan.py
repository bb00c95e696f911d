"""A transaction as a generator: it asks for statements by name and is sent their rows.

The same plan runs on SQLite, statement by statement in a thread, and on PostgreSQL, set-wise over a connection. So the
order of locks, the decisions and the writes are written once, and an engine is only a way to run named statements.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

Row: TypeAlias = Sequence[Any]
T = TypeVar("T")


class Each(NamedTuple):
    """Run the statement for every row of arguments, in this order; the rows it returns come back as one list.

    An engine may run it set-wise, so a statement that returns rows returns their key too.
    """

    statement: str
    rows: Sequence[Row]


class Once(NamedTuple):
    """Run the statement once with these arguments."""

    statement: str
    arguments: Row = ()


class Together(NamedTuple):
    """Writes to tables of their own, none of which sees another's: an engine may make one round trip of them.

    Only what `feed_draw` has drawn may be used by those that come after it. What the one that is asked returns comes
    back.
    """

    writes: Sequence[Each]
    asked: str | None = None


class AllOf(NamedTuple):
    """Reads of which none needs another's answer, and writes to other tables: an engine may make one trip of them.

    What comes back is a list for each of the reads, in their order; what they lock, they lock in that order.
    """

    reads: Sequence[Each | Once]
    writes: Sequence[Each] = ()


class AtOnce(NamedTuple):
    """A transaction in one statement, for an engine that has such: decided on what was read, written if it stands so.

    Each of `certain` must return as many rows as it is given, else nothing is done and nothing comes back; else what
    the write that is `asked` returns, a row at least. All are set-wise, and may name those before them as tables.
    """

    certain: Sequence[Each]
    writes: Sequence[Each]
    asked: str


Step: TypeAlias = Each | Once | Together | AllOf | AtOnce
Plan: TypeAlias = Generator[Step, list[Row], T]


def together(*writes: Plan[list[Row]]) -> Plan[None]:
    """Of several `each`, those that have anything to write; what they return is not asked for."""
    steps = some(*writes)
    if len(steps) == 1:
        yield steps[0]
    elif steps:
        yield Together(steps)


def some(*writes: Plan[list[Row]]) -> list[Each]:
    """Of several `each`, those that have anything to write."""
    return [step for write in writes for step in _first(write)]


def read_all(*reads: Each | Once, writes: Sequence[Each] = ()) -> Plan[list[list[Row]]]:
    """A list for each of `AllOf`; nothing is asked for where there is nothing to ask."""
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
    """The rows of `Each`, or nothing at all (and no round trip) when there is nothing to ask."""
    if not rows:
        return []
    return (yield Each(statement, rows))

"""Synchronous access to one SQLite file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import TypeVar

import apsw
import msgspec

from waypost.adapters.sql.engine.copying import MOVED
from waypost.adapters.sql.engine.group_commit import TransactionConflict
from waypost.adapters.sql.engine.migrations import WrongSchema, pending, require_current
from waypost.adapters.sql.engine.plan import AllOf, AtOnce, Each, Plan, Row, Step, Together
from waypost.adapters.sql.engine.statements import SqlStatement, dialect
from waypost.adapters.sqlite.fair_file_lock import FairFileLock
from waypost.ports.platform.failure import Full, Unavailable

PACKAGE = "waypost.adapters.sqlite"
BUSY_MS = 5_000
STATEMENTS_KEPT = 512
"""The most that apsw allows: it forgets a statement that was not among the latest so many uses of any statement."""
IS_A_COPY = 0x57504243
"""The application id of a file that `waypost admin backup` made, until `waypost admin restored` clears it."""
IS_MOVED = 0x57504D56
"""The application id of a file that `waypost admin copy` has copied completely."""

FAILURES = (TransactionConflict, apsw.Error, OverflowError, UnicodeEncodeError)
"""Errors of a statement; the last two come from arguments that SQLite cannot store."""

T = TypeVar("T")


@cache
def _statements() -> Mapping[str, SqlStatement]:
    """SQLite writes ?1 for PostgreSQL's $1."""
    return {
        name: statement._replace(text=re.sub(r"\$(\d+)", r"?\1", statement.text))
        for name, statement in dialect(PACKAGE).items()
    }


@cache
def _migrated_in_memory() -> tuple[apsw.Connection, list[str]]:
    store = SqliteStore(None)
    return store._connection, store._migrate()  # noqa: SLF001  # the only place that needs an unmigrated one


class SqliteStore:
    """A connection with its statements. Only one thread may use it at a time."""

    def __init__(self, path: Path | None) -> None:
        """`None` opens a database in memory, for simulations."""
        self._statements = _statements()
        self._turn = FairFileLock(path) if path else None
        self._connection = self._translated(lambda: _connected(str(path) if path else ":memory:"))

    def transact(self, plan: Plan[T]) -> T:
        """Run a plan in one transaction; any error rolls all of it back."""
        with self._turn.held() if self._turn else nullcontext():
            return self._translated(lambda: self._in_transaction(plan))

    def _in_transaction(self, plan: Plan[T]) -> T:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            answer = self._drive(plan)
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        return answer

    def _drive(self, plan: Plan[T]) -> T:
        try:
            step = next(plan)
            while True:
                step = plan.send(self._run(step))
        except StopIteration as stop:
            answer: T = stop.value
            return answer

    def _run(self, step: Step) -> list[Row]:
        if isinstance(step, Together):
            found = {write.statement: self._run(write) for write in step.writes}
            return found[step.asked] if step.asked else []
        if isinstance(step, AllOf):
            for write in step.writes:
                self._run(write)
            return [self._run(read) for read in step.reads]
        if isinstance(step, AtOnce):
            raise TypeError("SQLite has one writer, so it needs no AtOnce step")
        statement = self._statements[step.statement]
        if not isinstance(step, Each):
            return list(self._connection.execute(statement.text, step.arguments))
        if not statement.set_wise:
            return list(self._connection.executemany(statement.text, step.rows))
        return self._at_once(statement, step.rows)

    def _at_once(self, statement: SqlStatement, rows: Sequence[Row]) -> list[Row]:
        cursor = self._connection.execute(statement.text, (msgspec.json.encode(rows).decode(),))
        if statement.text.startswith("SELECT json_group_array"):
            found: list[Row] = msgspec.json.decode(next(cursor)[0])
            return found
        return list(cursor)

    def read(self, statement: str, arguments: Row) -> list[Row]:
        """A list argument is passed as one JSON text."""
        given = [msgspec.json.encode(a).decode() if isinstance(a, list) else a for a in arguments]
        return self._translated(lambda: list(self._connection.execute(self._statements[statement].text, given)))

    @staticmethod
    def _translated(action: Callable[[], T]) -> T:
        try:
            return action()
        except (apsw.BusyError, apsw.LockedError) as error:
            raise TransactionConflict(str(error)) from error
        except apsw.FullError as error:
            raise Full(f"SQLite has no room left: {error}") from error
        except (apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.NotADBError) as error:
            raise Unavailable(f"SQLite cannot use its file: {error}") from error

    def version(self) -> int:
        ((version,),) = self._connection.execute("PRAGMA user_version")
        return int(version)

    def migrate(self) -> list[str]:
        """Apply missing migrations; returns their names. Several processes may call it at once."""
        with self._turn.held() if self._turn else nullcontext():
            return self._translated(self._migrate if self._turn or self.version() else self._copy_migrated)

    def _copy_migrated(self) -> list[str]:
        """In memory: the migrations take longer than most tests that need them, so a process applies them once."""
        migrated, names = _migrated_in_memory()
        with self._connection.backup("main", migrated, "main") as copy:
            copy.step()
        return names

    def _migrate(self) -> list[str]:
        applied = []
        for migration in pending(PACKAGE, self.version()):
            self._connection.execute(
                f"BEGIN IMMEDIATE; {migration.text}; PRAGMA user_version = {migration.version}; COMMIT"
            )
            applied.append(migration.name)
        return applied

    def check(self) -> None:
        require_current(PACKAGE, self.version())
        ((mark,),) = self._connection.execute("PRAGMA application_id")
        if mark == IS_A_COPY:
            raise WrongSchema("this file is a backup: to put it into use, run `waypost admin restored --hold`")
        if mark == IS_MOVED:
            raise WrongSchema(MOVED)

    def close(self) -> None:
        self._connection.close()
        if self._turn:
            self._turn.close()
            self._turn = None


def _connected(name: str) -> apsw.Connection:
    connection = apsw.Connection(name, statementcachesize=STATEMENTS_KEPT)
    connection.set_busy_timeout(BUSY_MS)
    # Otherwise SQLite compiles a statement again at each use, if a partial index might suit the value of an argument.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    return connection

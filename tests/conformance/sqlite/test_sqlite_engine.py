"""What is specific to SQLite: the file, its lock, its schema, a full disk."""

from __future__ import annotations

import asyncio
import fcntl
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from waypost.adapters.sql.engine.migrations import WrongSchema
from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import ThreadedEngine
from waypost.adapters.sqlite.fair_file_lock import FairFileLock
from waypost.adapters.sqlite.store import SqliteStore
from waypost.ports.platform.failure import Unavailable
from waypost_testing.clock import ManualClock
from waypost_testing.contracts.examples import ORG, T0, a_draft, claim, submit

PATIENCE = 10.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "waypost.db"
    store = SqliteStore(path)
    store.migrate()
    store.close()
    return path


@pytest.fixture
async def ledger(path: Path) -> AsyncIterator[SqlLedger]:
    ledger = SqlLedger(await asyncio.to_thread(ThreadedEngine, path, ManualClock().now))
    yield ledger
    await ledger.close()


def eventually(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.001)


async def test_what_was_acknowledged_is_in_the_file(ledger: SqlLedger, path: Path) -> None:
    message = await submit(ledger)
    await ledger.close()
    again = SqlLedger(await asyncio.to_thread(ThreadedEngine, path, ManualClock().now))
    assert await again.messages.get(ORG, message.id) == message
    await again.close()


async def test_reading_does_not_wait_for_a_writer(ledger: SqlLedger, path: Path) -> None:
    message = await submit(ledger)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE; DELETE FROM message")
    async with asyncio.timeout(PATIENCE):
        assert await ledger.messages.get(ORG, message.id) == message
    other.execute("ROLLBACK")
    other.close()


async def test_a_full_disk_is_unavailable_and_loses_nothing(ledger: SqlLedger) -> None:
    stored = [await submit(ledger)]
    writer = ledger._engine._writer._connection  # type: ignore[attr-defined]  # no real disk need be filled
    writer.pragma("max_page_count", writer.pragma("page_count"))
    with pytest.raises(Unavailable):
        await ledger.outbox.submit(a_draft(payload="x" * 100_000), T0)
    stored.append(await submit(ledger))
    writer.pragma("max_page_count", 1_000_000)
    stored.append(await submit(ledger))
    assert [c.id for c in await claim(ledger)] == [message.id for message in stored]


def test_commits_are_synced_to_disk(path: Path) -> None:
    store = SqliteStore(path)
    assert store._connection.pragma("journal_mode") == "wal"
    assert store._connection.pragma("synchronous") == 2, "FULL"
    store.close()


def test_an_old_schema_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(WrongSchema, match=r"^the database has schema 0, this Waypost needs \d+: run `waypost migrate`"):
        ThreadedEngine(tmp_path / "empty.db", ManualClock().now)


def test_a_schema_from_the_future_is_refused(path: Path) -> None:
    store = SqliteStore(path)
    store._connection.pragma("user_version", 999)
    with pytest.raises(WrongSchema, match="run a newer Waypost"):
        store.check()
    with pytest.raises(WrongSchema, match="run a newer Waypost"):
        store.migrate()
    store.close()


def test_migrations_run_once_though_several_try(tmp_path: Path) -> None:
    stores = [SqliteStore(tmp_path / "waypost.db") for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        applied = list(threads.map(SqliteStore.migrate, stores))
    assert sorted(map(len, applied))[:3] == [0, 0, 0]
    assert "foundation" in {name for names in applied for name in names}
    for store in stores:
        store.check()
        store.close()


class TestTurn:
    def test_one_at_a_time(self, tmp_path: Path) -> None:
        inside = 0
        most = 0

        def enter(turn: FairFileLock) -> None:
            nonlocal inside, most
            for _ in range(50):
                with turn.held():
                    inside += 1
                    most = max(most, inside)
                    inside -= 1

        turns = [FairFileLock(tmp_path / "db") for _ in range(4)]
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(enter, turns))
        assert most == 1
        for turn in turns:
            turn.close()

    def test_who_let_go_stands_behind_who_waited(self, tmp_path: Path) -> None:
        greedy, patient = FairFileLock(tmp_path / "db"), FairFileLock(tmp_path / "db")
        order: list[str] = []

        def wait() -> None:
            with patient.held():
                order.append("patient")

        waiting = threading.Thread(target=wait)
        with greedy.held():
            waiting.start()
            eventually(lambda: is_locked(tmp_path / "db-queue"))  # the other one is first in the queue
        with greedy.held():
            order.append("greedy")
        waiting.join()
        assert order == ["patient", "greedy"]
        greedy.close()
        patient.close()

    def test_a_turn_is_let_go_when_its_work_fails(self, tmp_path: Path) -> None:
        turn, other = FairFileLock(tmp_path / "db"), FairFileLock(tmp_path / "db")
        with pytest.raises(LookupError), turn.held():
            raise LookupError
        with other.held():
            assert is_locked(tmp_path / "db-turn")
        assert not is_locked(tmp_path / "db-turn")
        turn.close()
        other.close()


def is_locked(path: Path) -> bool:
    probe = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(probe)
    return False


def test_a_statement_is_compiled_once_however_its_arguments_change() -> None:
    """SQLite would compile it at each use: partial indexes on `delivery` might suit the value of an argument."""
    store = SqliteStore(None)
    store.migrate()
    compiled: list[object] = []

    def note(*action: object) -> int:
        compiled.append(action)
        return apsw.SQLITE_OK

    store._connection.authorizer = note
    store.read("message_get", (1, "north"))
    once = len(compiled)
    store.read("message_get", (2, "south"))
    store.close()
    assert len(compiled) == once > 0


def test_a_database_in_memory_has_the_same_schema_as_a_migrated_file(tmp_path: Path) -> None:
    in_memory, on_disk = SqliteStore(None), SqliteStore(tmp_path / "waypost.db")
    assert in_memory.migrate() == on_disk.migrate()
    schema = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"
    assert list(in_memory._connection.execute(schema)) == list(on_disk._connection.execute(schema))
    in_memory.check()
    for store in (in_memory, on_disk):
        store.close()

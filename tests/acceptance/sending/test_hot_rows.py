"""Four processes on the same hot rows; one is paused in the middle of a transaction, and the others go on."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from waypost.adapters.local.clock import SystemClock
from waypost.adapters.postgres.engine import PostgresEngine
from waypost.adapters.postgres.fast_paths import FAST_PATHS
from waypost.adapters.postgres.schema import migrate
from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import ThreadedEngine
from waypost.adapters.sqlite.store import SqliteStore
from waypost.model.message import Message, Status
from waypost.model.time import minutes
from waypost.ports.sending.messages import Query
from waypost_testing.clock import ManualClock
from waypost_testing.contracts.examples import ORG, PARKING, a_tick, drain, life

HAMMER = Path(__file__).parents[1] / "stage" / "hammer.py"
PATIENCE = 60.0
MOST_IN_HAND = 6
"""Messages that one process may have claimed at once: three hands, two slots each."""
UNDER_WAY = 50
"""Intents after which a process is surely at work."""


class Process:
    def __init__(self, ledger: str, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder
        self._progress = folder / f"{name}.progress"
        self._child = subprocess.Popen([sys.executable, str(HAMMER), ledger, name, str(folder)])

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def progress(self) -> int:
        """Intents that the Ledger has acknowledged."""
        return self._progress.stat().st_size if self._progress.exists() else 0

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Messages handed to the provider; a line cut short by a kill was never handed over."""
        lines = (self._folder / f"{self.name}.calls").read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def send(self, sign: signal.Signals) -> None:
        self._child.send_signal(sign)

    def pause(self) -> None:
        """Return when each of its threads stands still."""
        self.send(signal.SIGSTOP)
        eventually(lambda: all(state(task) == "T" for task in Path(f"/proc/{self.pid}/task").iterdir()))

    def works_on(self, intents: int = UNDER_WAY) -> None:
        """Return when it has got this much further."""
        start = self.progress
        eventually(lambda: self.progress >= start + intents or self._child.poll() is not None)
        assert self._child.poll() is None, f"{self.name} ended by itself"

    def end(self) -> int:
        return self._child.wait(PATIENCE)

    def clear(self) -> None:
        if self._child.poll() is None:
            self._child.kill()
            self._child.wait()


def state(task: Path) -> str:
    """The kernel's letter for what a thread does: T when it was stopped."""
    return (task / "stat").read_text().rpartition(")")[2].split()[0]


def eventually(happened: Callable[[], bool], patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.002)


@contextmanager
def four_processes(ledger: str, folder: Path) -> Iterator[list[Process]]:
    processes = [Process(ledger, f"p{n}", folder) for n in range(4)]
    try:
        for process in processes:
            process.works_on()
        yield processes
    finally:
        for process in processes:
            process.clear()


def pause_in_the_middle(process: Process, in_the_middle: Callable[[], bool]) -> None:
    """Stop it while it holds a transaction; let it run and stop it again until that is so."""
    for _ in range(500):
        process.pause()
        if in_the_middle():
            return
        process.send(signal.SIGCONT)
        process.works_on(1)
    pytest.fail("it was never caught in the middle of a transaction")


async def check(ledger: SqlLedger, processes: list[Process], undecided: set[int]) -> None:
    """Nothing lost, nothing doubled, every queue in order; `undecided` was in a killed process's hands."""
    messages = list(await ledger.messages.find(ORG, Query(), 1_000_000))
    keys = sorted(int(message.draft.idempotency_key.removeprefix("key-")) for message in messages)
    assert keys == list(range(len(keys))), "a key was lost or stored twice"
    assert {m.delivery.status for m in messages if m.id not in undecided} <= {Status.SENT, Status.DELIVERED}
    calls = [call for process in processes for call in process.calls]
    doubled = [message for message, count in Counter(call["id"] for call in calls).items() if count > 1]
    assert doubled == []
    settled = {message.id for message in messages if message.delivery.provider_id is not None}
    called = {call["id"] for call in calls}
    assert called - undecided <= settled, "a call was made that the Ledger does not know of"
    in_order([call for call in calls if call["queue"] is not None])
    for message in messages[:: max(1, len(messages) // 50)]:
        await check_life(ledger, message, undecided)


async def check_life(ledger: SqlLedger, message: Message, undecided: set[int]) -> None:
    whole = await life(ledger, message.id)
    if message.id in undecided:
        return
    assert [attempt.status.value for attempt in whole.attempts].count("SUCCESS") == 1
    if message.delivery.status is Status.DELIVERED:
        assert sorted(heard.kind for heard in whole.statuses) == ["delivered", "read", "sent"]
        assert message.delivery.read_at is not None


def in_order(calls: list[dict[str, Any]]) -> None:
    """No two messages of one queue were in hand at once."""
    queues = defaultdict(list)
    for call in calls:
        queues[call["queue"]].append((call["start"], call["end"]))
    assert len(queues) == 3
    for spans in queues.values():
        spans.sort()
        assert len(spans) > 10
        assert all(end < start for (_, end), (start, _) in pairwise(spans))


def stop(processes: list[Process]) -> None:
    for process in processes:
        process.send(signal.SIGTERM)
    assert [process.end() for process in processes] == [0] * len(processes)


class TestPostgres:
    def test_the_others_go_on_while_one_is_paused_and_nothing_is_lost_or_doubled(
        self, postgres_url: str, tmp_path: Path
    ) -> None:
        asyncio.run(migrate(postgres_url))
        with four_processes(postgres_url, tmp_path) as processes:
            paused, *others = processes
            pause_in_the_middle(paused, lambda: asyncio.run(a_transaction_idles(postgres_url)))
            stopped_at, frozen = time.monotonic(), paused.progress
            before = [process.progress for process in others]
            for process in others:
                process.works_on(200)
            eventually(lambda: time.monotonic() > stopped_at + 3.2)
            during = [process.progress - start for process, start in zip(others, before, strict=True)]
            for process in others:  # and they still do, long after whatever it held was freed
                process.works_on(200)
            assert paused.progress == frozen
            assert min(during) > 200
            paused.send(signal.SIGCONT)
            paused.works_on(200)
            stop(processes)
            asyncio.run(self.finish(postgres_url, processes))

    async def finish(self, url: str, processes: list[Process]) -> None:
        ledger = SqlLedger(await PostgresEngine.open(url), FAST_PATHS)
        await drain(ledger, now=ledger._engine.now())
        await check(ledger, processes, undecided=set())
        await ledger.close()


async def a_transaction_idles(url: str) -> bool:
    """A process that runs is never idle in a transaction for as long."""
    connection = await asyncpg.connect(url)
    idle = """SELECT count(*) FROM pg_stat_activity WHERE application_name = 'waypost' AND datname = current_database()
        AND state = 'idle in transaction' AND state_change < clock_timestamp() - interval '250 milliseconds'"""
    try:
        await asyncio.sleep(0.3)
        return bool(await connection.fetchval(idle))
    finally:
        await connection.close()


class TestSqlite:
    def test_the_others_go_on_when_the_one_that_holds_the_file_is_killed(self, tmp_path: Path) -> None:
        path = tmp_path / "waypost.db"
        store = SqliteStore(path)
        store.migrate()
        store.close()
        with four_processes(str(path), tmp_path) as processes:
            paused, *others = processes
            pause_in_the_middle(paused, lambda: has_the_turn(paused.pid, path))
            eventually(lambda: stand_still(others), 10)  # which is why a supervisor kills whoever misses its heartbeat
            paused.send(signal.SIGKILL)
            assert paused.end() == -signal.SIGKILL
            for process in others:
                process.works_on(200)
            stop(others)
            asyncio.run(self.finish(path, processes, paused))

    async def finish(self, path: Path, processes: list[Process], killed: Process) -> None:
        """What the killed one had in hand is parked for a person, and nothing else is."""
        clock = ManualClock(SystemClock().now())
        ledger = SqlLedger(await asyncio.to_thread(ThreadedEngine, path, clock.now))
        await drain(ledger, now=clock.now())
        await ledger.webhook_uptime.tick(a_tick())
        clock.jump(minutes(11))
        await ledger.webhook_uptime.tick(a_tick())
        parked = set((await ledger.outbox.sweep(PARKING, 1_000, clock.now())).parked)
        await drain(ledger, now=clock.now())
        assert len(parked) <= MOST_IN_HAND
        assert {
            call["id"] for process in processes if process is not killed for call in process.calls
        } & parked == set()
        await check(ledger, processes, undecided=set(parked))
        await ledger.close()


def has_the_turn(pid: int, path: Path) -> bool:
    """Whether the process holds the lock under which SQLite writes."""
    inode = path.with_name(path.name + "-turn").stat().st_ino
    held = [line.split() for line in Path("/proc/locks").read_text().splitlines() if "->" not in line]
    return any(lock[4] == str(pid) and lock[5].endswith(f":{inode}") for lock in held if lock[1] == "FLOCK")


def stand_still(processes: list[Process]) -> bool:
    """For two seconds: as long as a supervisor waits for a heartbeat."""
    before = [process.progress for process in processes]
    time.sleep(2)
    return before == [process.progress for process in processes]

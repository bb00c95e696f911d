"""Stores what must survive a crash: the cursors of the feeds and the unanswered messages."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from waypost.client.types import Epoch, Json, StoreInUse

T = TypeVar("T")


class Outgoing(msgspec.Struct, frozen=True):
    """A message that was not answered yet."""

    client_message_id: str
    conversation_id: str
    content: Json


class StoredState(msgspec.Struct, frozen=True):
    epoch: Epoch | None
    cursors: dict[str, int] | None
    """None for a new device."""
    outgoing: list[Outgoing]


class Store(Protocol):
    """Each method returns when its change survives a crash."""

    async def open(self) -> StoredState: ...

    async def add(self, outgoing: Outgoing) -> None: ...

    async def remove(self, client_message_id: str) -> None: ...

    async def save_cursors(self, epoch: Epoch | None, cursors: Mapping[str, int]) -> None: ...

    async def close(self) -> None: ...


class MemoryStore:
    """Keeps everything in memory: nothing survives a crash."""

    def __init__(self) -> None:
        self._epoch: Epoch | None = None
        self._cursors: dict[str, int] | None = None
        self._outgoing: dict[str, Outgoing] = {}

    async def open(self) -> StoredState:
        return StoredState(self._epoch, self._cursors, list(self._outgoing.values()))

    async def add(self, outgoing: Outgoing) -> None:
        self._outgoing[outgoing.client_message_id] = outgoing

    async def remove(self, client_message_id: str) -> None:
        self._outgoing.pop(client_message_id, None)

    async def save_cursors(self, epoch: Epoch | None, cursors: Mapping[str, int]) -> None:
        self._epoch, self._cursors = epoch, dict(cursors)

    async def close(self) -> None:
        """Does nothing."""


_TABLES = """
CREATE TABLE IF NOT EXISTS stand (
    only INTEGER PRIMARY KEY CHECK (only = 1), epoch TEXT NOT NULL, cursors TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS outgoing (
    n INTEGER PRIMARY KEY AUTOINCREMENT, client_message_id TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL, content TEXT NOT NULL
);
"""


class FileStore:
    """A SQLite file for one device of one user; only one client may open it."""

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._thread: ThreadPoolExecutor | None = None
        self._open: sqlite3.Connection | None = None

    async def open(self) -> StoredState:
        self._thread = ThreadPoolExecutor(1, "waypost-client-store")
        try:
            return await self._run(self._opened)
        except BaseException:
            await self.close()
            raise

    async def add(self, outgoing: Outgoing) -> None:
        row = (outgoing.client_message_id, outgoing.conversation_id, msgspec.json.encode(outgoing.content).decode())
        statement = "INSERT INTO outgoing (client_message_id, conversation_id, content) VALUES (?, ?, ?)"
        await self._run(lambda: self._do(statement, row))

    async def remove(self, client_message_id: str) -> None:
        await self._run(lambda: self._do("DELETE FROM outgoing WHERE client_message_id = ?", (client_message_id,)))

    async def save_cursors(self, epoch: Epoch | None, cursors: Mapping[str, int]) -> None:
        row = (msgspec.json.encode(epoch).decode(), msgspec.json.encode(dict(cursors)).decode())
        await self._run(lambda: self._do("INSERT OR REPLACE INTO stand VALUES (1, ?, ?)", row))

    async def close(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.get_running_loop().run_in_executor(thread, self._closed)
            thread.shutdown(wait=False)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    # On the thread

    def _opened(self) -> StoredState:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._open = database = sqlite3.connect(self._path, timeout=0, isolation_level=None)
        try:
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.executescript(_TABLES)
            database.execute("BEGIN IMMEDIATE")
            database.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise StoreInUse(f"another client has {self._path.name} open: close it, or use another file") from error
            raise
        return self._read(database)

    def _read(self, database: sqlite3.Connection) -> StoredState:
        position = database.execute("SELECT epoch, cursors FROM stand").fetchone()
        rows = database.execute(
            "SELECT client_message_id, conversation_id, content FROM outgoing ORDER BY n"
        ).fetchall()
        queue = [Outgoing(name, where, msgspec.json.decode(content)) for name, where, content in rows]
        if position is None:
            return StoredState(None, None, queue)
        return StoredState(
            msgspec.json.decode(position[0]), msgspec.json.decode(position[1], type=dict[str, int]), queue
        )

    def _do(self, statement: str, row: tuple[str, ...]) -> None:
        assert self._open is not None, "open() comes first"  # noqa: S101  # a bug in the caller
        with closing(self._open.execute(statement, row)):
            pass

    def _closed(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

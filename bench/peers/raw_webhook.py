"""The least a durable webhook door can do: check the signature, store the body in a group commit, answer 200."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import hmac
import tempfile
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import apsw
import asyncpg
import uvloop

from bench.load import SECRET
from bench.peers import database
from bench.peers.serving import Scope, WebhookResult, measure, serve

_ANSWERS: dict[int, dict[str, Any]] = {
    status: {"type": "http.response.start", "status": status, "headers": []} for status in (200, 401)
}
_END = {"type": "http.response.body", "body": b""}


class Table(Protocol):
    """Where bodies go."""

    async def open(self) -> None: ...

    async def insert(self, bodies: list[bytes]) -> None:
        """Returns once they are on disk."""


class GroupCommit:
    """One writer: whatever gathered during the last commit is the next one."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._wake = asyncio.Event()

    async def start(self) -> None:
        await self._table.open()
        self._writer = asyncio.create_task(self._write())

    async def put(self, body: bytes) -> None:
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((body, stored))
        self._wake.set()
        await stored

    async def _write(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            batch, self._waiting = self._waiting, []
            await self._table.insert([body for body, _ in batch])
            for _, stored in batch:
                if not stored.done():
                    stored.set_result(None)


class PostgresTable:
    def __init__(self, url: str) -> None:
        self._url = url

    async def open(self) -> None:
        connection = await asyncpg.connect(self._url)
        await connection.execute("SET synchronous_commit = on")
        await connection.execute("CREATE TABLE inbox (id bigserial PRIMARY KEY, body bytea NOT NULL)")
        self._statement = await connection.prepare("INSERT INTO inbox (body) SELECT * FROM unnest($1::bytea[])")

    async def insert(self, bodies: list[bytes]) -> None:
        await self._statement.fetch(bodies)


class SqliteTable:
    """In one thread of its own, so that the disk never holds up the loop."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1)

    async def open(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._open)

    async def insert(self, bodies: list[bytes]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._insert, bodies)

    def _open(self) -> None:
        self._connection = apsw.Connection(str(self._path))
        self._connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        self._connection.execute("CREATE TABLE inbox (id INTEGER PRIMARY KEY, body BLOB NOT NULL)")

    def _insert(self, bodies: list[bytes]) -> None:
        # One statement for all rows: it gives the interpreter lock away once, not once a row.
        statement = "INSERT INTO inbox (body) SELECT value FROM carray(?)"
        self._connection.execute(statement, (apsw.carray(tuple(bodies)),))


class WebhookApp:
    """The ASGI application."""

    def __init__(self, store: GroupCommit, secret: str) -> None:
        self._store = store
        self._secret = secret.encode()

    async def __call__(
        self, scope: Scope, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        if scope["type"] == "lifespan":
            return await self._live(receive, send)
        body = await _body(receive)
        status = 200 if self._is_signed(scope, body) else 401
        if status == 200:
            await self._store.put(body)
        await send(_ANSWERS[status])
        return await send(_END)

    def _is_signed(self, scope: Scope, body: bytes) -> bool:
        given = next((value for name, value in scope["headers"] if name == b"x-hub-signature-256"), b"")
        wanted = "sha256=" + hmac.digest(self._secret, body, hashlib.sha256).hex()
        return hmac.compare_digest(given, wanted.encode())

    async def _live(self, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
        await receive()
        await self._store.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})


async def _body(receive: Callable[[], Awaitable[Any]]) -> bytes:
    event = await receive()
    whole: bytes = event["body"]
    while event["more_body"]:
        event = await receive()
        whole += event["body"]
    return whole


async def run_postgres(url: str, count: int, bodies: Path | None = None) -> WebhookResult:
    async with database.fresh(url, "bench_raw_webhook") as own:
        result = await asyncio.to_thread(
            measure, "raw ASGI, PostgreSQL", "bench.peers.raw_webhook", ["--url", own], count, bodies=bodies
        )
        connection = await asyncpg.connect(own)
        assert await connection.fetchval("SELECT count(*) FROM inbox") == count
        await connection.close()
        return result


def run_sqlite(count: int, bodies: Path | None = None) -> WebhookResult:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        where = f"sqlite:///{folder}/inbox.db"
        result = measure("raw ASGI, SQLite", "bench.peers.raw_webhook", ["--url", where], count, bodies=bodies)
        assert apsw.Connection(f"{folder}/inbox.db").execute("SELECT count(*) FROM inbox").get == count
        return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="sqlite:///", help="postgresql://…, or sqlite:/// for a temporary file")
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--serve", action="store_true", help="only serve, on a free port that is printed")
    arguments = parser.parse_args()
    on_sqlite = arguments.url.startswith("sqlite:///")
    if arguments.serve:
        path = Path(arguments.url.removeprefix("sqlite:///"))
        serve(WebhookApp(GroupCommit(SqliteTable(path) if on_sqlite else PostgresTable(arguments.url)), SECRET))
    elif on_sqlite:
        print(run_sqlite(arguments.count))
    else:
        print(uvloop.run(run_postgres(arguments.url, arguments.count)))


if __name__ == "__main__":
    main()

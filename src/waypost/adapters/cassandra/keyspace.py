"""The connection to the history keyspace: opened on first use, then kept by the driver; translates its errors."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import acsylla
from acsylla import errors
from msgspec.structs import replace

from waypost.adapters.cassandra import owner, schema
from waypost.adapters.cassandra.address import CassandraAddress
from waypost.adapters.cassandra.schema import WrongHistorySchema
from waypost.adapters.cassandra.statements import CqlStatement, load
from waypost.ports.platform.failure import LedgerError, Rejected, Unavailable

CassandraRow: TypeAlias = tuple[Any, ...]

CONNECT_TIMEOUT = 5.0
PAUSE = 1.0
"""Seconds after a failed connection during which callers get the same error at once."""
SCHEMA_TIMEOUT = 60.0
"""All nodes must agree on a new table."""
LARGEST_PAGE = 1000
ASK_ANOTHER = acsylla.SpeculativeExecutionPolicy(constant_delay_ms=1000, max_speculative_executions=1)
"""An idempotent statement without an answer after a second also goes to another node, and the first answer counts:
until the driver notices that a node stands still, it sends that node its share of the statements."""


class Keyspace:
    def __init__(self, address: CassandraAddress, ledger: str, *, claims: bool = True) -> None:
        """For the Ledger with this identity; with `claims=False` an unowned keyspace stays unclaimed."""
        self._address = address
        self._ledger = ledger
        self._claims = claims
        self._session: Any = None
        self._prepared: dict[str, tuple[Any, bool]] = {}
        self._turn = asyncio.Lock()
        self._failed: tuple[float, LedgerError] | None = None
        self._closed = False

    async def connect(self) -> None:
        """Raise Unavailable if no node answers, WrongHistorySchema if the schema has another version, ForeignHistory if
        the keyspace belongs to another Ledger. Nothing is read or written before."""
        if self._session is not None:
            return
        async with self._turn:
            if self._session is None:
                self._refuse()
                try:
                    await self._open()
                except LedgerError as error:
                    self._failed = (time.monotonic() + PAUSE, error)
                    raise

    def _refuse(self) -> None:
        if self._closed:
            raise Unavailable("the history store is closed")
        if self._failed is not None and time.monotonic() < self._failed[0]:
            raise self._failed[1]

    async def _open(self) -> None:
        statements = await asyncio.to_thread(load)
        session = await opened(self._address, self._address.keyspace)
        try:
            await schema.check(session)
            self._prepared = await _prepared(session, statements)
            await self._require_ours(session)
        except BaseException as error:
            await _closed(session)
            if isinstance(error, errors.CassException):
                raise _unfit(error) from error
            raise
        self._session = session

    async def _require_ours(self, session: Any) -> None:
        found = await owner.read_owner(session, self._prepared["owner"][0])
        if not found and self._claims:
            found = await owner.claim_keyspace(session, self._prepared["owner_claim"][0], self._ledger)
        if found and found != self._ledger:
            raise owner.foreign_history_error(self._address.keyspace)

    async def write(self, statement: str, arguments: Sequence[object]) -> None:
        """None arguments are left unset: a null would be a tombstone."""
        session, bound = self._bound(statement)
        for number, value in enumerate(arguments):
            if value is not None:
                bound.bind(number, value)
        try:
            await session.execute(bound)
        except errors.CassException as error:
            raise translate_error(error) from error

    async def read(self, statement: str, arguments: Sequence[object], most: int = LARGEST_PAGE) -> list[CassandraRow]:
        """All rows of all pages."""
        session, bound = self._bound(statement)
        bound.bind_list(list(arguments))
        bound.set_page_size(min(most, LARGEST_PAGE))
        rows: list[CassandraRow] = []
        try:
            while True:
                found = await session.execute(bound)
                rows += [row.as_tuple() for row in found.all()]
                if not found.has_more_pages():
                    return rows
                bound.set_page_state(found.page_state())
        except errors.CassException as error:
            raise translate_error(error) from error

    async def check(self) -> None:
        """Check that enough replicas answer, that the schema version is right, and that the keyspace is still ours:
        another Ledger may have dropped and recreated it."""
        found = await self.read("schema_version", ())
        schema.require_current(found[0][0] if found else 0, len(await asyncio.to_thread(schema.migrations)))
        if any(ledger != self._ledger for (ledger,) in await self.read("owner", ())):
            await self._let_go()
            raise owner.foreign_history_error(self._address.keyspace)

    def _bound(self, statement: str) -> tuple[Any, Any]:
        if self._session is None:
            raise Unavailable("the history store is closed")
        prepared, idempotent = self._prepared[statement]
        bound = prepared.bind()
        bound.set_is_idempotent(idempotent)
        return self._session, bound

    async def close(self) -> None:
        self._closed = True
        await self._let_go()

    async def _let_go(self) -> None:
        async with self._turn:
            session, self._session = self._session, None
            if session is not None:
                await _closed(session)


async def _prepared(session: Any, statements: Mapping[str, CqlStatement]) -> dict[str, tuple[Any, bool]]:
    made = await asyncio.gather(*(session.create_prepared(statement.text) for statement in statements.values()))
    return {name: (each, statements[name].idempotent) for name, each in zip(statements, made, strict=True)}


async def opened(address: CassandraAddress, keyspace: str | None) -> Any:
    """Open a driver session; reads certificate files in a thread."""
    tls = await asyncio.to_thread(_tls, address)
    cluster = acsylla.create_cluster(
        contact_points=list(address.hosts),
        port=address.port,
        username=address.user or None,
        password=address.password or None,
        consistency=address.consistency,
        load_balance_dc_aware=address.dc or None,
        connect_timeout=CONNECT_TIMEOUT,
        request_timeout=address.timeout,
        # Only idempotent statements are retried.
        retry_policy="default",
        speculative_execution_policy=ASK_ANOTHER,
        # Reconnect to a returning node within seconds instead of the default minute.
        exponential_reconnect_base_delay_ms=500,
        exponential_reconnect_max_delay_ms=5000,
        heartbeat_interval_sec=5,
        idle_timeout_sec=15,
        application_name="waypost",
        log_level="critical",  # callers get its messages as errors
        **tls,
    )
    try:
        return await cluster.create_session(keyspace=keyspace)
    except errors.CassErrorLibUnableToSetKeyspace as error:
        raise schema.missing(address.keyspace) from error
    except errors.CassException as error:
        raise Unavailable(f"Cassandra cannot be reached: {error}") from error


def _tls(address: CassandraAddress) -> dict[str, Any]:
    if address.tls == "off":
        return {}
    trusted = address.ca or ssl.get_default_verify_paths().cafile
    files = {"ssl_trusted_cert": trusted, "ssl_cert": address.cert, "ssl_private_key": address.key}
    try:
        read = {name: Path(file).read_text() for name, file in files.items() if file}
    except OSError as error:
        raise Unavailable(f"{error.filename} cannot be read: {error.strerror}") from error
    verify = acsylla.SSLVerifyFlags.PEER_CERT if address.tls == "cert" else acsylla.SSLVerifyFlags.PEER_IDENTITY
    return {"ssl_enabled": True, "ssl_verify_flags": verify, **read}


async def _closed(session: Any) -> None:
    with suppress(errors.CassException):
        await session.close()


def translate_error(error: errors.CassException) -> LedgerError:
    if isinstance(error, errors.CassErrorServerInvalidQuery):
        return Rejected(f"Cassandra refuses the query: {error}")
    return Unavailable(f"Cassandra request failed: {error}")


def _unfit(error: errors.CassException) -> LedgerError:
    """A query refused during start-up means that the keyspace cannot be used at all."""
    if isinstance(error, errors.CassErrorServerInvalidQuery):
        return WrongHistorySchema(f"the history store cannot be used: Cassandra refuses a start-up query: {error}")
    return translate_error(error)


async def migrate(address: CassandraAddress) -> list[str]:
    """Create the keyspace if needed and apply missing migrations; returns their names."""
    session = await opened(replace(address, timeout=max(address.timeout, SCHEMA_TIMEOUT)), None)
    try:
        return await schema.migrate(session, address)
    finally:
        await _closed(session)

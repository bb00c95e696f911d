"""The connection to the Log's keyspace: opened when it is needed, then kept by the driver; foreign errors end here."""

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
from waypost.adapters.cassandra.address import Address
from waypost.adapters.cassandra.schema import WrongSchema
from waypost.adapters.cassandra.statements import Statement, load
from waypost.ports.failure import LedgerError, Rejected, Unavailable

Row: TypeAlias = tuple[Any, ...]

CONNECT_TIMEOUT = 5.0
PAUSE = 1.0
"""After a connection that failed, so long nobody tries again: who asks meanwhile hears it at once."""
SCHEMA_TIMEOUT = 60.0
"""Every node has to agree on a table."""
LARGEST_PAGE = 1000


class Keyspace:
    def __init__(self, address: Address, ledger: str, *, claims: bool = True) -> None:
        """Of the Ledger with this identity; one that only looks claims nothing, and need not be known by any."""
        self._address = address
        self._ledger = ledger
        self._claims = claims
        self._session: Any = None
        self._prepared: dict[str, tuple[Any, bool]] = {}
        self._turn = asyncio.Lock()
        self._failed: tuple[float, LedgerError] | None = None
        self._closed = False

    async def connect(self) -> None:
        """Raise Unavailable if nobody answers, WrongSchema if the schema is not the one this code was made for,
        ForeignLog if it is another Ledger's. Nothing is read or written before."""
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
            raise Unavailable("the Log is closed")
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
        found = await owner.asked(session, self._prepared["owner"][0])
        if not found and self._claims:
            found = await owner.claimed(session, self._prepared["owner_claim"][0], self._ledger)
        if found and found != self._ledger:
            raise owner.foreign(self._address.keyspace)

    async def write(self, statement: str, arguments: Sequence[object]) -> None:
        """None among the arguments is not written at all: a null would be a tombstone."""
        session, bound = self._bound(statement)
        for number, value in enumerate(arguments):
            if value is not None:
                bound.bind(number, value)
        try:
            await session.execute(bound)
        except errors.CassException as error:
            raise translated(error) from error

    async def read(self, statement: str, arguments: Sequence[object], most: int = LARGEST_PAGE) -> list[Row]:
        """All rows, however many pages the server makes of them."""
        session, bound = self._bound(statement)
        bound.bind_list(list(arguments))
        bound.set_page_size(min(most, LARGEST_PAGE))
        rows: list[Row] = []
        try:
            while True:
                found = await session.execute(bound)
                rows += [row.as_tuple() for row in found.all()]
                if not found.has_more_pages():
                    return rows
                bound.set_page_state(found.page_state())
        except errors.CassException as error:
            raise translated(error) from error

    async def check(self) -> None:
        """That it answers, with as many copies as any read needs, has the schema that this code was made for, and is
        still ours: a keyspace may be dropped and made again by others."""
        found = await self.read("schema_version", ())
        schema.require_current(found[0][0] if found else 0, len(await asyncio.to_thread(schema.migrations)))
        if any(ledger != self._ledger for (ledger,) in await self.read("owner", ())):
            await self._let_go()
            raise owner.foreign(self._address.keyspace)

    def _bound(self, statement: str) -> tuple[Any, Any]:
        if self._session is None:
            raise Unavailable("the Log is closed")
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


async def _prepared(session: Any, statements: Mapping[str, Statement]) -> dict[str, tuple[Any, bool]]:
    made = await asyncio.gather(*(session.create_prepared(statement.text) for statement in statements.values()))
    return {name: (each, statements[name].idempotent) for name, each in zip(statements, made, strict=True)}


async def opened(address: Address, keyspace: str | None) -> Any:
    """A session of the driver; reads files, so they are read beside the loop."""
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
        # Only what is idempotent is sent again, and only as long as its outcome can be found out that way.
        retry_policy="default",
        # A node that was away is missed for seconds, not for the minute that is usual.
        exponential_reconnect_base_delay_ms=500,
        exponential_reconnect_max_delay_ms=5000,
        heartbeat_interval_sec=5,
        idle_timeout_sec=15,
        application_name="waypost",
        log_level="critical",  # whatever it would say comes as an error to whoever asked
        **tls,
    )
    try:
        return await cluster.create_session(keyspace=keyspace)
    except errors.CassErrorLibUnableToSetKeyspace as error:
        raise schema.missing(address.keyspace) from error
    except errors.CassException as error:
        raise Unavailable(f"Cassandra cannot be reached: {error}") from error


def _tls(address: Address) -> dict[str, Any]:
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


def translated(error: errors.CassException) -> LedgerError:
    if isinstance(error, errors.CassErrorServerInvalidQuery):
        return Rejected(f"Cassandra refuses it: {error}")
    return Unavailable(f"Cassandra does not answer as it should: {error}")


def _unfit(error: errors.CassException) -> LedgerError:
    """What it refuses before anything was asked of it, it refuses as a whole."""
    if isinstance(error, errors.CassErrorServerInvalidQuery):
        return WrongSchema(f"the Log cannot be used: Cassandra refuses what every start asks of it: {error}")
    return translated(error)


async def migrate(address: Address) -> list[str]:
    """Make the keyspace if need be, and bring its schema up to date; returns what was applied."""
    session = await opened(replace(address, timeout=max(address.timeout, SCHEMA_TIMEOUT)), None)
    try:
        return await schema.migrate(session, address)
    finally:
        await _closed(session)

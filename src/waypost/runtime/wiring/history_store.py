"""Opens the history store of WAYPOST_HISTORY_URL and migrates its schema."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from waypost.ports.history.history import History
from waypost.ports.ledger import Ledger
from waypost.ports.platform.failure import LedgerError, Unavailable
from waypost.runtime.settings.addresses import ENCODE, is_cut
from waypost.runtime.settings.definitions import PREFIX, SettingsError

if TYPE_CHECKING:
    from waypost.adapters.cassandra.address import CassandraAddress


async def open_history_store(url: str, ledger: Ledger, *, claims: bool = True, to_look: bool = False) -> History:
    """Refuses an invalid address and, unless `to_look`, a wrong schema or a store of another Ledger.

    An unreachable store is not an error: reads and writes raise Unavailable until it answers, and the checks are made
    then, before anything is read or written. Without `claims` the store is not marked as this Ledger's. Call inside the
    event loop that will use it.
    """
    address = history_address(url)
    from waypost.adapters.cassandra.history import CassandraHistory  # noqa: PLC0415
    from waypost.adapters.cassandra.keyspace import Keyspace  # noqa: PLC0415  # only with a history store

    named = ledger.operator_reads
    claims = claims and not to_look
    identity = await named.identify(secrets.token_hex(16)) if claims else await named.identity()
    store = CassandraHistory(Keyspace(address, identity or "", claims=claims))
    with suppress(LedgerError if to_look else Unavailable):
        await store.connect()
    return store


async def migrate_history(url: str) -> list[str]:
    """Create the keyspace if there is none, and migrate its schema; returns what was applied."""
    address = history_address(url)
    from waypost.adapters.cassandra.keyspace import migrate  # noqa: PLC0415

    return await migrate(address)


def history_address(url: str) -> CassandraAddress:
    """The parsed URL; raises SettingsError with one line without the password."""
    from waypost.adapters.cassandra.address import InvalidCassandraAddress, parse  # noqa: PLC0415

    try:
        if is_cut(url):
            raise InvalidCassandraAddress(ENCODE)
        address = parse(url)
    except InvalidCassandraAddress as wrong:
        raise SettingsError(f"{PREFIX}HISTORY_URL cannot be used: {wrong}") from None
    try:
        import acsylla  # noqa: F401, PLC0415  # checks that it is installed
    except ModuleNotFoundError:
        raise SettingsError(
            f"{PREFIX}HISTORY_URL needs a missing driver: run `pip install '.[cassandra]'` in a clone of Waypost"
        ) from None
    return address

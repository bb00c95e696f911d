"""The Log that WAYPOST_LOG_URL names: opening it, and bringing its schema up to date."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from waypost.ports.failure import LedgerError, Unavailable
from waypost.ports.ledger import Ledger
from waypost.ports.log import Log
from waypost.runtime.addresses import ENCODE, is_cut
from waypost.runtime.settings import PREFIX, SettingsError

if TYPE_CHECKING:
    from waypost.adapters.cassandra.address import Address


async def open_log(url: str, ledger: Ledger, *, claims: bool = True, to_look: bool = False) -> Log:
    """Refuses an address or, unless it is only looked at, a schema that is wrong and a Log of another Ledger. One that
    nobody answers at is no obstacle: whoever reads or writes hears Unavailable until somebody does, and all of that is
    checked then, before anything is read or written. Who claims nothing leaves no name
    behind. Call inside the loop that will use it."""
    address = log_address(url)
    from waypost.adapters.cassandra.keyspace import Keyspace  # noqa: PLC0415  # only where there is one
    from waypost.adapters.cassandra.log import CassandraLog  # noqa: PLC0415

    named = ledger.operating
    claims = claims and not to_look
    identity = await named.identify(secrets.token_hex(16)) if claims else await named.identity()
    log = CassandraLog(Keyspace(address, identity or "", claims=claims))
    with suppress(LedgerError if to_look else Unavailable):
        await log.connect()
    return log


async def migrate_log(url: str) -> list[str]:
    """Make the Log's keyspace if there is none, and bring its schema up to date; returns what was applied."""
    address = log_address(url)
    from waypost.adapters.cassandra.keyspace import migrate  # noqa: PLC0415

    return await migrate(address)


def log_address(url: str) -> Address:
    """What the URL says; raises SettingsError with one line that holds no password."""
    from waypost.adapters.cassandra.address import BadAddress, parse  # noqa: PLC0415

    try:
        if is_cut(url):
            raise BadAddress(ENCODE)
        address = parse(url)
    except BadAddress as wrong:
        raise SettingsError(f"{PREFIX}LOG_URL cannot be used: {wrong}") from None
    try:
        import acsylla  # noqa: F401, PLC0415  # is it there?
    except ModuleNotFoundError:
        raise SettingsError(
            f"{PREFIX}LOG_URL needs a driver that is missing: run `pip install '.[cassandra]'` in a clone of Waypost"
        ) from None
    return address

"""The owner of a keyspace: the first Ledger to connect owns it for good, and every other one is refused.

Ledgers number their conversations from 1, so two of them in one keyspace would show each other's messages. A Ledger is
known by its identity, not by its address: `waypost admin copy`, a backup and a dump keep the identity, since of an
archived message they hold only its key in this keyspace. No server starts on a database that was copied to another, so
a copy and its source are never both in use. A backup that runs beside its source, as a trial, has the same identity: it
needs a keyspace of its own, as it needs its own numbers.
"""

from __future__ import annotations

from typing import Any

import acsylla

from waypost.ports.platform.failure import ForeignHistory


def foreign_history_error(keyspace: str) -> ForeignHistory:
    return ForeignHistory(
        f"the keyspace {keyspace} holds the history of another database, so it is neither read nor written: "
        "set WAYPOST_HISTORY_URL to another keyspace, or WAYPOST_DATABASE_URL to the database that owns it. "
        "For a backup that is older than the claim, the how-to about Cassandra explains how to transfer the keyspace"
    )


async def read_owner(session: Any, prepared: Any) -> str:
    """The Ledger that owns the keyspace, or an empty text if none is known."""
    row = (await session.execute(prepared.bind())).first()
    return "" if row is None else str(row.column_value("ledger"))


async def claim_keyspace(session: Any, prepared: Any, ledger: str) -> str:
    """Claim the keyspace; returns its owner, which is this Ledger or an earlier one, the same in all data centres."""
    bound = prepared.bind()
    bound.bind(0, ledger)
    bound.set_serial_consistency(acsylla.Consistency.SERIAL)
    bound.set_is_idempotent(True)
    row = (await session.execute(bound)).first()
    return ledger if row.column_value("[applied]") else str(row.column_value("ledger"))

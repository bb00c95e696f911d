"""Whose Log a keyspace is: the first Ledger that comes has it for good, and every other one is refused.

Ledgers count their conversations from 1, so that two of them in one keyspace would show each other's messages. A Ledger
is known by its identity, and not by its address: `waypost admin copy`, a backup and a dump carry the identity along,
since of a message that has left they hold nothing but its place in this very keyspace. No server starts on a database
that was copied away, so that a copy and its source are never both at work. A backup that is put to use beside its
source, for a trial, is the same Ledger by this measure: it needs a keyspace of its own, as it needs its own numbers.
"""

from __future__ import annotations

from typing import Any

import acsylla

from waypost.ports.failure import ForeignLog


def foreign(keyspace: str) -> ForeignLog:
    return ForeignLog(
        f"the keyspace {keyspace} is the Log of another database, and nothing is read from it or written to it: "
        "name another keyspace in WAYPOST_LOG_URL, or in WAYPOST_DATABASE_URL the database that it belongs to. "
        "For a backup that is older than the claim the how-to about Cassandra says how to give the keyspace over"
    )


async def asked(session: Any, prepared: Any) -> str:
    """The Ledger that has claimed it; nothing where none is known to have."""
    row = (await session.execute(prepared.bind())).first()
    return "" if row is None else str(row.column_value("ledger"))


async def claimed(session: Any, prepared: Any, ledger: str) -> str:
    """The Ledger that has it from now on: this one, or the one that came before. In all data centres the same."""
    bound = prepared.bind()
    bound.bind(0, ledger)
    bound.set_serial_consistency(acsylla.Consistency.SERIAL)
    bound.set_is_idempotent(True)
    row = (await session.execute(bound)).first()
    return ledger if row.column_value("[applied]") else str(row.column_value("ledger"))

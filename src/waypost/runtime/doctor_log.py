"""What `waypost doctor` says of the Log: version, schema, copies and consistency, time to answer, clocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from waypost.flow.hand_over import only_in_a_log
from waypost.flow.policy_book import PolicyBook
from waypost.model.time import Instant
from waypost.ports.failure import ForeignLog, LedgerError, Unavailable
from waypost.ports.ledger import Ledger
from waypost.ports.log import Log
from waypost.rules.hand_over import has_expired
from waypost.runtime.doctor_findings import Finding as Shown
from waypost.runtime.doctor_findings import good, wrong
from waypost.runtime.log_store import log_address
from waypost.runtime.settings import SettingsError

if TYPE_CHECKING:
    from waypost.adapters.cassandra.address import Address
    from waypost.adapters.cassandra.facts import Facts

Finding: TypeAlias = tuple[bool | None, str, str]
"""Good, wrong or, as None, to be watched; what was found, and what to do about it."""

OLDEST = (4, 1)
SLOW = 0.1
SKEWED = 1.0
EVERYWHERE = "replication_factor"


async def findings(log_url: str) -> Sequence[Finding]:
    """Nothing is said where the Log is in the database."""
    if not log_url:
        return []
    try:
        address = log_address(log_url)
        from waypost.adapters.cassandra.facts import learn  # noqa: PLC0415  # only where there is one

        facts = await learn(address)
    except SettingsError as error:
        return [(False, str(error), "mend WAYPOST_LOG_URL")]
    except Unavailable as error:
        return [(False, f"log: {error}", "check WAYPOST_LOG_URL and that the cluster runs")]
    except LedgerError as error:  # of its schema, which says what to do
        told, _, remedy = str(error).rpartition(": ")
        return [(False, f"log: {told}", remedy)]
    return [*_of_the_server(facts), *_of_the_copies(facts, address), *_of_the_time(facts)]


async def of_bodies(ledger: Ledger, log: Log | None, policies: PolicyBook, now: Instant) -> Sequence[Shown]:
    """Whether what has left the database is where the settings say, and whether that is this database's at all."""
    try:
        await (log or ledger.log).ping()
    except ForeignLog as error:
        told, _, remedy = str(error).rpartition(": ")
        return [wrong(f"log: {told}", remedy)]
    except LedgerError:
        pass  # as below
    away = await only_in_a_log(ledger)
    if away and log is None:
        text = f"log: bodies of messages ({len(away)} conversations at least) are in a Log, and the settings name none"
        return [wrong(text, "name it in WAYPOST_LOG_URL again, on every machine, and restart the servers")]
    await policies.refresh()
    spots = [one.entry.spot for one in away if not has_expired(one, policies.known(one.org_id).log_kept, now)]
    if not spots or log is None:
        return []
    try:
        return [_of_the_missing(len(spots), len(await log.some(spots)))]
    except LedgerError:
        return []  # that it does not answer is said of itself


def _of_the_missing(asked: int, found: int) -> Shown:
    text = f"log: it has {found} of {asked} messages that were looked for, whose bodies have left the database"
    if found == asked:
        return good(text)
    if found:
        return wrong(text, "run `nodetool repair`, or bring back its backup: see docs/how-to/back-up-and-restore.md")
    return wrong(text, "is it another one? WAYPOST_LOG_URL must name the cluster and keyspace that they were handed to")


def _of_the_server(facts: Facts) -> Iterator[Finding]:
    known = tuple(int(part) for part in facts.version.split("-")[0].split(".")[:2] if part.isdecimal())
    nodes = ", ".join(f"{count} in {name}" for name, count in facts.nodes.items())
    text = f"log: {facts.product} {facts.version} with the right schema, nodes: {nodes}"
    if facts.product == "Cassandra" and known < OLDEST:
        yield False, text, f"move to Cassandra {'.'.join(map(str, OLDEST))} or newer"
    else:
        yield True, text, ""


def _of_the_copies(facts: Facts, address: Address) -> Iterator[Finding]:
    copies = facts.copies.get(facts.centre, facts.copies.get(EVERYWHERE, 0))
    nodes, level = facts.nodes[facts.centre], address.consistency
    needed = _needed(level, copies)
    text = f"log: {copies} copies in {facts.centre} with {facts.strategy}, {level}"
    alter = f"ALTER KEYSPACE {address.keyspace} to 3 copies by NetworkTopologyStrategy, then repair"
    if facts.strategy == "SimpleStrategy" and len(facts.nodes) > 1:
        yield False, f"{text}: SimpleStrategy knows no data centres", alter
    elif copies > nodes:
        yield False, f"{text}: there are {nodes} nodes", "add nodes, or ALTER KEYSPACE to fewer copies"
    elif 2 * needed <= copies:
        yield False, f"{text}: a read may miss what was just written", "set consistency=LOCAL_QUORUM in WAYPOST_LOG_URL"
    elif needed == copies and nodes > 1:
        yield False, f"{text}: one node away stops the Log", alter
    elif copies == 1:
        yield None, f"{text}: the only copy of every message", f"but for a trial, have three nodes, and {alter}"
    else:
        yield True, f"{text}: {copies - needed} of them may be away", ""
    wanted = address.copies.get(facts.centre, address.copies.get(EVERYWHERE, copies)) if address.replication else copies
    if wanted != copies:
        told = (
            f"log: WAYPOST_LOG_URL says {wanted} copies in {facts.centre}, the keyspace {address.keyspace} has {copies}"
        )
        yield None, told, "it holds for a new keyspace only: ALTER KEYSPACE and repair, or say what is there"


def _needed(level: str, copies: int) -> int:
    """Copies that must answer."""
    fixed = {"ONE": 1, "LOCAL_ONE": 1, "TWO": 2, "THREE": 3, "ALL": copies}
    return fixed.get(level, copies // 2 + 1)


def _of_the_time(facts: Facts) -> Iterator[Finding]:
    took = f"log: answers in {facts.round_trip * 1000:.1f} ms"
    yield facts.round_trip < SLOW, took, "" if facts.round_trip < SLOW else "put the servers near the Log"
    apart = f"log: its clock and ours are {abs(facts.skew) * 1000:.0f} ms apart"
    even = abs(facts.skew) < SKEWED + facts.round_trip
    yield even, apart, "" if even else "let every machine keep its time by NTP: retention is counted by clocks"

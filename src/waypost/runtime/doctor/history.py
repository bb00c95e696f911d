"""`waypost doctor` for the history store: version, schema, copies, consistency, commit log, response time, clocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from waypost.flow.history.archive import find_archived_messages
from waypost.flow.history.verify import UNSYNCED
from waypost.flow.policy_cache import PolicyCache
from waypost.model.time import Instant, as_seconds
from waypost.ports.history.history import History
from waypost.ports.ledger import Ledger
from waypost.ports.platform.failure import ForeignHistory, LedgerError, Unavailable
from waypost.rules.history.archive import has_expired
from waypost.runtime.doctor.findings import DoctorFinding as Shown
from waypost.runtime.doctor.findings import good, wrong
from waypost.runtime.settings.definitions import SettingsError
from waypost.runtime.wiring.history_store import history_address

if TYPE_CHECKING:
    from waypost.adapters.cassandra.address import CassandraAddress
    from waypost.adapters.cassandra.facts import CassandraFacts

HistoryFinding: TypeAlias = tuple[bool | None, str, str]
"""True for good, False for wrong, None for a warning; the finding, and what to do."""

OLDEST = (4, 1)
SLOW = 0.1
SKEWED = 1.0
EVERYWHERE = "replication_factor"


async def findings(history_url: str) -> Sequence[HistoryFinding]:
    """Empty when the database keeps the history itself."""
    if not history_url:
        return []
    try:
        address = history_address(history_url)
        from waypost.adapters.cassandra.facts import read_facts  # noqa: PLC0415  # only where it is used

        facts = await read_facts(address)
    except SettingsError as error:
        return [(False, str(error), "correct WAYPOST_HISTORY_URL")]
    except Unavailable as error:
        return [(False, f"history: {error}", "check WAYPOST_HISTORY_URL and that the cluster runs")]
    except LedgerError as error:  # a wrong schema, whose message says what to do
        text, _, remedy = str(error).rpartition(": ")
        return [(False, f"history: {text}", remedy)]
    return [
        *_of_the_server(facts),
        *_of_the_copies(facts, address),
        *_of_the_commit_log(facts, address),
        *_of_the_time(facts),
    ]


async def of_bodies(ledger: Ledger, store: History | None, policies: PolicyCache, now: Instant) -> Sequence[Shown]:
    """Whether archived bodies are in the configured history store, and whether it belongs to this database."""
    try:
        await (store or ledger.history).ping()
    except ForeignHistory as error:
        problem, _, remedy = str(error).rpartition(": ")
        return [wrong(f"history: {problem}", remedy)]
    except LedgerError:
        pass  # as below
    away = await find_archived_messages(ledger)
    if away and store is None:
        text = f"history: bodies of at least {len(away)} messages are in a history store, but none is set"
        return [wrong(text, "set WAYPOST_HISTORY_URL again, on every machine, and restart the servers")]
    await policies.refresh()
    spots = [
        one.entry.archive_key for one in away if not has_expired(one, policies.known(one.org_id).history_retention, now)
    ]
    if not spots or store is None:
        return []
    try:
        return [_of_the_missing(len(spots), len(await store.stored(spots)))]
    except LedgerError:
        return []  # reported by the check of the store itself


def _of_the_missing(asked: int, found: int) -> Shown:
    text = f"history: it has {found} of {asked} archived messages that were looked up"
    if found == asked:
        return good(text)
    if found:
        return wrong(text, "run `nodetool repair`, or restore its backup: see docs/how-to/back-up-and-restore.md")
    return wrong(
        text, "is it the right one? WAYPOST_HISTORY_URL must be the cluster and keyspace they were archived in"
    )


def _of_the_server(facts: CassandraFacts) -> Iterator[HistoryFinding]:
    known = tuple(int(part) for part in facts.version.split("-")[0].split(".")[:2] if part.isdecimal())
    nodes = ", ".join(f"{count} in {name}" for name, count in facts.nodes.items())
    text = f"history: {facts.product} {facts.version} with the right schema, nodes: {nodes}"
    if facts.product == "Cassandra" and known < OLDEST:
        yield False, text, f"move to Cassandra {'.'.join(map(str, OLDEST))} or newer"
    else:
        yield True, text, ""


def _of_the_copies(facts: CassandraFacts, address: CassandraAddress) -> Iterator[HistoryFinding]:
    copies = facts.copies.get(facts.centre, facts.copies.get(EVERYWHERE, 0))
    nodes, level = facts.nodes[facts.centre], address.consistency
    needed = _needed(level, copies)
    text = f"history: {copies} copies in {facts.centre} with {facts.strategy}, {level}"
    alter = f"ALTER KEYSPACE {address.keyspace} to 3 copies by NetworkTopologyStrategy, then repair"
    if facts.strategy == "SimpleStrategy" and len(facts.nodes) > 1:
        yield False, f"{text}: SimpleStrategy ignores data centres", alter
    elif copies > nodes:
        yield False, f"{text}: there are {nodes} nodes", "add nodes, or ALTER KEYSPACE to fewer copies"
    elif 2 * needed <= copies:
        yield (
            False,
            f"{text}: a read may miss what was just written",
            "set consistency=LOCAL_QUORUM in WAYPOST_HISTORY_URL",
        )
    elif needed == copies and nodes > 1:
        yield False, f"{text}: one lost node stops the history store", alter
    elif copies == 1:
        yield None, f"{text}: the only copy of every message", f"except for a trial, run three nodes, and {alter}"
    else:
        yield True, f"{text}: {copies - needed} of them may be lost", ""
    wanted = address.copies.get(facts.centre, address.copies.get(EVERYWHERE, copies)) if address.replication else copies
    if wanted != copies:
        there = f"the keyspace {address.keyspace} has {copies}"
        text = f"history: WAYPOST_HISTORY_URL says {wanted} copies in {facts.centre}, {there}"
        yield None, text, "this applies to a new keyspace only: ALTER KEYSPACE and repair, or correct the setting"


def _of_the_commit_log(facts: CassandraFacts, address: CassandraAddress) -> Iterator[HistoryFinding]:
    """Nothing if the server does not say."""
    if not facts.sync:
        return
    if facts.sync != "periodic":
        yield True, f"history: commitlog_sync {facts.sync}: a crash loses nothing that it confirmed", ""
        return
    within, most = f"{facts.sync_period:.0f} s", as_seconds(UNSYNCED)
    text = f"history: commitlog_sync periodic, every {within}"
    copies = facts.copies.get(facts.centre, facts.copies.get(EVERYWHERE, 0))
    needed = _needed(address.consistency, copies)
    if facts.sync_period > most:
        risk = f"a crash loses what it confirmed in that time; Waypost allows for {most:.0f} s"
        yield False, f"{text}: {risk}", "set commitlog_sync_period to 10000ms in cassandra.yaml"
    elif needed == 1:
        risk = f"a crash loses what it confirmed in the last {within}; Waypost finds out and appends it again"
        yield None, f"{text}: {risk}", "set commitlog_sync to group in cassandra.yaml, or run three nodes"
    else:
        yield True, f"{text}: only a crash of {needed} nodes within that time loses what it confirmed", ""


def _needed(level: str, copies: int) -> int:
    """Copies that must answer."""
    fixed = {"ONE": 1, "LOCAL_ONE": 1, "TWO": 2, "THREE": 3, "ALL": copies}
    return fixed.get(level, copies // 2 + 1)


def _of_the_time(facts: CassandraFacts) -> Iterator[HistoryFinding]:
    took = f"history: answers in {facts.round_trip * 1000:.1f} ms"
    yield (
        facts.round_trip < SLOW,
        took,
        "" if facts.round_trip < SLOW else "move the servers closer to the history store",
    )
    apart = f"history: its clock and ours are {abs(facts.skew) * 1000:.0f} ms apart"
    even = abs(facts.skew) < SKEWED + facts.round_trip
    yield even, apart, "" if even else "run NTP on every machine: retention depends on clocks"

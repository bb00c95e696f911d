"""The doctor's findings about a database, as pure functions of its facts."""

from __future__ import annotations

from collections.abc import Iterator

from waypost.adapters.postgres.facts import LINES, PostgresFacts, StandbyFacts
from waypost.adapters.sqlite.facts import PathFacts, SqliteFacts
from waypost.model.time import as_seconds, seconds
from waypost.rules.operations import clock_offset
from waypost.runtime.doctor.findings import DoctorFinding, good, warning, wrong

OLDEST = 150_000
SLOW = 0.02
"""Seconds."""
BEHIND = 10.0
MB, GB = 10**6, 10**9
SHORTEST_STATEMENT = 10_000
"""Milliseconds that one of our batches may take."""
MORE_CONNECTIONS = "raise max_connections, lower WAYPOST_DATABASE_READERS, or run fewer processes"
BACKUPS = "docs/how-to/back-up-and-restore.md"


def of_postgres(facts: PostgresFacts, readers: int) -> list[DoctorFinding]:
    return [
        *_answers(facts),
        *_schema(facts),
        *_durability(facts),
        *_connections(facts, LINES + readers),
        *_timeouts(facts),
        *_replication(facts),
        *of_clock("PostgreSQL's", facts.ahead),
    ]


def _answers(facts: PostgresFacts) -> Iterator[DoctorFinding]:
    name = f"PostgreSQL {facts.version // 10_000}.{facts.version % 10_000}"
    if facts.version < OLDEST:
        yield wrong(f"{name} is too old", "upgrade it to 15 or newer")
    took = f"answers in {facts.answered_in * 1000:.1f} ms, the database has {facts.size / MB:.0f} MB"
    if facts.answered_in > SLOW:
        yield warning(f"{name}: {took}", "move it closer: every message waits for several round trips")
    else:
        yield good(f"{name}: {took}")
    if facts.settings.get("server_encoding") != "UTF8":
        yield wrong(
            f"the database's encoding is {facts.settings.get('server_encoding')}",
            "create one with ENCODING 'UTF8' and copy: messages use every script",
        )


def _moved() -> DoctorFinding:
    return wrong(
        "this database was copied to another, and no server starts on it",
        "set the other in WAYPOST_DATABASE_URL; or, to go back to this one, `waypost admin restored --hold`",
    )


def _schema(facts: PostgresFacts) -> Iterator[DoctorFinding]:
    if facts.is_moved:
        yield _moved()
    if facts.copying:
        yield wrong("a copy into this database is not finished", "run the same `waypost admin copy` again")
    elif facts.missing:
        yield wrong(
            f"schema {facts.schema}: `waypost migrate` would apply {', '.join(facts.missing)}",
            "back up, run `waypost migrate`, then renew the servers: the old version works until then",
        )
    else:
        yield good(f"schema {facts.schema} is the right one, `waypost migrate` has nothing to do")


def _durability(facts: PostgresFacts) -> Iterator[DoctorFinding]:
    off = [name for name in ("fsync", "full_page_writes", "synchronous_commit") if facts.settings.get(name) == "off"]
    for name in off:
        yield wrong(f"{name} is off: a crash may lose what was acknowledged", f"ALTER SYSTEM SET {name} = on")
    if not off:
        yield good(f"commits are on disk when they are acknowledged (synchronous_commit {_of(facts)})")
    if facts.settings.get("autovacuum") == "off":
        yield warning("autovacuum is off: the queue's tables grow without end", "ALTER SYSTEM SET autovacuum = on")


def _of(facts: PostgresFacts) -> str:
    return facts.settings.get("synchronous_commit", "unknown")


def _connections(facts: PostgresFacts, each: int) -> Iterator[DoctorFinding]:
    more = facts.connections_left // each
    text = f"{facts.connections} of {facts.settings.get('max_connections')} connections are taken"
    size = f"a process takes up to {each}"
    if more < 1:
        yield wrong(f"{text}: no room for one more process ({size})", MORE_CONNECTIONS)
    else:
        yield good(f"{text}: room for {more} more processes ({size})")


def fits(left: int, processes: int, readers: int) -> DoctorFinding | None:
    """Whether so many processes can open their connections; each needs one and wants more."""
    each = LINES + readers
    wanted = (
        f"{processes} {'process takes' if processes == 1 else 'processes take'} up to {processes * each} connections"
    )
    text = f"{wanted} to PostgreSQL ({each} each), and {left} can be opened"
    if left < processes:
        return wrong(text, MORE_CONNECTIONS)
    return warning(text, MORE_CONNECTIONS) if left < processes * each else None


def _timeouts(facts: PostgresFacts) -> Iterator[DoctorFinding]:
    """Timeouts that we set for our own connections do not matter here."""
    statement = int(facts.settings.get("statement_timeout", "0"))
    if 0 < statement < SHORTEST_STATEMENT:
        yield warning(
            f"statement_timeout is {statement} ms: a large batch is cut off",
            "ALTER ROLE … SET statement_timeout = 0 for the role that Waypost connects with",
        )
    if int(facts.settings.get("idle_session_timeout", "0")):
        yield warning(
            "idle_session_timeout is set: connections are reopened after every pause",
            "ALTER ROLE … SET idle_session_timeout = 0 for the role that Waypost connects with",
        )


def _replication(facts: PostgresFacts) -> Iterator[DoctorFinding]:
    if facts.in_recovery or facts.settings.get("transaction_read_only") == "on":
        yield wrong("this server accepts no writes: it is a standby", "set the primary in WAYPOST_DATABASE_URL")
        return
    named = facts.settings.get("synchronous_standby_names", "")
    if named and not any(each.sync in {"sync", "quorum"} for each in facts.standbys):
        yield wrong(
            "every commit waits for a synchronous standby, and none is connected",
            "start it, or empty synchronous_standby_names",
        )
    if not facts.standbys:
        yield warning(
            "no standby: if this machine is lost, everything after the last backup is lost",
            f"add one; or see {BACKUPS}",
        )
    for each in facts.standbys:
        yield _standby(each)


def _standby(each: StandbyFacts) -> DoctorFinding:
    how = "a failover loses nothing" if each.sync in {"sync", "quorum"} else "a failover may lose the last moments"
    if each.state == "unknown":
        remedy = "GRANT pg_monitor TO the role that Waypost connects with"
        return warning(f"standby {each.name}: its lag is not visible to us", remedy)
    text = f"standby {each.name}: {each.state}, {each.sync}, {each.behind:.1f} s behind; {how}"
    if each.state != "streaming" or each.behind > BEHIND:
        return warning(text, "see its log: is its disk or the network too slow?")
    return good(text)


def of_clock(whose: str, ahead: float) -> list[DoctorFinding]:
    """The difference beyond the round trip. Nothing is decided by our clock, so it is only a warning."""
    if not clock_offset.is_off(seconds(ahead)):
        return [good(f"{whose} clock agrees with ours to within {as_seconds(clock_offset.TOLERATED):.0f} s")]
    text = f"{whose} clock is {abs(ahead):.1f} s {'ahead of' if ahead > 0 else 'behind'} ours"
    return [warning(text, "run chrony or another NTP client on both machines")]


def of_sqlite(facts: SqliteFacts) -> list[DoctorFinding]:
    found = [good(f"SQLite {facts.version}: the file has {facts.size / MB:.0f} MB")]
    if facts.damage:
        found.append(wrong(f"the file is damaged: {facts.damage}", f"stop the server and restore a backup: {BACKUPS}"))
    else:
        found.append(good("the file is intact (quick_check)"))
    if facts.schema and facts.journal != "wal":
        found.append(wrong(f"journal mode is {facts.journal}", "PRAGMA journal_mode = WAL: is the folder writable?"))
    if facts.wal > GB:
        remedy = "end long-running readers, or restart the server"
        found.append(warning(f"{facts.wal / GB:.1f} GB wait in the -wal file", remedy))
    if facts.missing:
        text = f"schema {facts.schema}: the next start applies {', '.join(facts.missing)}"
        found.append(warning(text, "back up first; `waypost migrate` does it now"))
    else:
        found.append(good(f"schema {facts.schema} is the right one, `waypost migrate` has nothing to do"))
    if facts.is_a_copy:
        found.append(wrong("this file is a backup, and no server starts on it", "`waypost admin restored --hold`"))
    if facts.is_moved:
        found.append(_moved())
    return found


def of_file(place: PathFacts) -> Iterator[DoctorFinding]:
    """A file that holds messages or a key."""
    yield from of_folder(place)
    if place.readable_by_others:
        yield warning(f"{place.path} can be read by every user of this machine", f"chmod o-rwx {place.path}")


def of_folder(place: PathFacts) -> Iterator[DoctorFinding]:
    if not place.writable:
        yield wrong(f"{place.path} cannot be written", "give it to the user that runs the server (chown)")


def of_disk(place: PathFacts) -> DoctorFinding:
    if place.remote:
        remedy = "put the database on a disk of this machine, or use PostgreSQL"
        return wrong(f"{place.path} is on {place.remote}, where locks cannot be trusted", remedy)
    return room(place)


def room(place: PathFacts) -> DoctorFinding:
    text = f"{place.free / GB:.1f} GB of {place.total / GB:.0f} GB are free where {place.path} is"
    if place.free < 100 * MB:
        return wrong(text, "free space at once: nothing is accepted when the disk is full")
    if place.free < GB or place.free < place.total / 20:
        return warning(text, "free space, or move it to a larger disk")
    return good(text)

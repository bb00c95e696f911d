"""What the doctor concludes from facts: each problem comes with a remedy, and a warning is not a failure."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from waypost.adapters.postgres.facts import LINES, PostgresFacts, StandbyFacts
from waypost.adapters.sqlite.facts import PathFacts, SqliteFacts
from waypost.ports.platform.http_transport import HttpReply
from waypost.runtime.doctor import database as judge
from waypost.runtime.doctor.findings import DoctorFinding, FindingLevel
from waypost.runtime.doctor.webhook import _judged

READERS = 4
SETTINGS = {
    "autovacuum": "on",
    "fsync": "on",
    "full_page_writes": "on",
    "idle_session_timeout": "0",
    "lock_timeout": "0",
    "max_connections": "100",
    "server_encoding": "UTF8",
    "statement_timeout": "0",
    "synchronous_commit": "on",
    "synchronous_standby_names": "",
    "transaction_read_only": "off",
}
WELL = PostgresFacts(
    version=170_002,
    settings=SETTINGS,
    connections=10,
    connections_left=87,
    in_recovery=False,
    standbys=[StandbyFacts("replica", "streaming", "sync", 0.0)],
    schema=13,
    missing=[],
    copying=False,
    size=1_000_000,
    answered_in=0.001,
    ahead=0.0,
)
FILE = SqliteFacts(
    version="3.50", journal="wal", schema=13, missing=[], is_a_copy=False, damage=None, size=1_000_000, wal=0
)
PLACE = PathFacts(
    path=Path("waypost.db"), writable=True, readable_by_others=False, free=50 * 10**9, total=100 * 10**9, remote=None
)


def troubles(found: list[DoctorFinding]) -> list[tuple[str, str]]:
    assert all(each.remedy and "\n" not in each.remedy for each in found if each.level is not FindingLevel.OK)
    return [(each.level.value, each.text) for each in found if each.level is not FindingLevel.OK]


def test_a_server_that_is_well_has_no_finding_but_good_ones() -> None:
    assert troubles(judge.of_postgres(WELL, READERS)) == []
    assert troubles(judge.of_sqlite(FILE)) == []
    assert troubles([*judge.of_file(PLACE), judge.of_disk(PLACE), judge.room(PLACE)]) == []


@pytest.mark.parametrize(
    ("left", "level"),
    [(4 * (LINES + READERS), None), (4 * (LINES + READERS) - 1, "warning"), (4, "warning"), (3, "wrong")],
)
def test_so_many_processes_fit_or_share_or_cannot_run(left: int, level: str | None) -> None:
    found = judge.fits(left, 4, READERS)
    assert (found and found.level.value) == level
    text = f"4 processes take up to 44 connections to PostgreSQL (11 each), and {left} can be opened"
    assert found is None or (found.text == text and "max_connections" in found.remedy)


@pytest.mark.parametrize(
    ("facts", "level", "said"),
    [
        (replace(WELL, version=140_010), "wrong", "PostgreSQL 14.10 is too old"),
        (replace(WELL, answered_in=0.1), "warning", "answers in 100.0 ms"),
        (replace(WELL, schema=12, missing=["log"]), "wrong", "schema 12: `waypost migrate` would apply log"),
        (replace(WELL, copying=True), "wrong", "a copy into this database is not finished"),
        (replace(WELL, is_moved=True), "wrong", "this database was copied to another"),
        (replace(WELL, connections_left=LINES + READERS - 1), "wrong", "no room for one more process"),
        (replace(WELL, in_recovery=True), "wrong", "it is a standby"),
        (replace(WELL, standbys=[]), "warning", "no standby"),
        (replace(WELL, standbys=[StandbyFacts("far", "streaming", "async", 60.0)]), "warning", "60.0 s behind"),
        (replace(WELL, standbys=[StandbyFacts("new", "catchup", "async", 0.0)]), "warning", "catchup"),
        (replace(WELL, standbys=[StandbyFacts("shy", "unknown", "unknown", 0.0)]), "warning", "is not visible to us"),
        (replace(WELL, ahead=2.5), "warning", "2.5 s ahead of ours"),
        (replace(WELL, ahead=-3600.0), "warning", "3600.0 s behind ours"),
    ],
)
def test_what_is_wrong_with_postgresql(facts: PostgresFacts, level: str, said: str) -> None:
    ((how, text),) = troubles(judge.of_postgres(facts, READERS))
    assert (how, said in text) == (level, True), text


@pytest.mark.parametrize(
    ("name", "value", "level", "said"),
    [
        ("fsync", "off", "wrong", "fsync is off"),
        ("full_page_writes", "off", "wrong", "full_page_writes is off"),
        ("synchronous_commit", "off", "wrong", "synchronous_commit is off"),
        ("autovacuum", "off", "warning", "autovacuum is off"),
        ("server_encoding", "SQL_ASCII", "wrong", "encoding is SQL_ASCII"),
        ("statement_timeout", "500", "warning", "statement_timeout is 500 ms"),
        ("idle_session_timeout", "60000", "warning", "idle_session_timeout is set"),
        ("transaction_read_only", "on", "wrong", "accepts no writes"),
    ],
)
def test_what_is_wrong_with_its_settings(name: str, value: str, level: str, said: str) -> None:
    ((how, text),) = troubles(judge.of_postgres(replace(WELL, settings=SETTINGS | {name: value}), READERS))
    assert (how, said in text) == (level, True), text


def test_a_synchronous_standby_that_is_not_there_stops_every_commit() -> None:
    waiting = replace(WELL, settings=SETTINGS | {"synchronous_standby_names": "replica"}, standbys=[])
    assert ("wrong", "every commit waits for a synchronous standby, and none is connected") in troubles(
        judge.of_postgres(waiting, READERS)
    )


@pytest.mark.parametrize(
    ("facts", "level", "said"),
    [
        (replace(FILE, damage="row 1 missing from index"), "wrong", "the file is damaged: row 1"),
        (replace(FILE, journal="delete"), "wrong", "journal mode is delete"),
        (replace(FILE, wal=3 * 10**9), "warning", "3.0 GB wait in the -wal file"),
        (replace(FILE, missing=["log"]), "warning", "the next start applies log"),
        (replace(FILE, is_a_copy=True), "wrong", "this file is a backup"),
        (replace(FILE, is_moved=True), "wrong", "this database was copied to another"),
    ],
)
def test_what_is_wrong_with_a_file(facts: SqliteFacts, level: str, said: str) -> None:
    ((how, text),) = troubles(judge.of_sqlite(facts))
    assert (how, said in text) == (level, True), text


@pytest.mark.parametrize(
    ("place", "level", "said"),
    [
        (replace(PLACE, writable=False), "wrong", "cannot be written"),
        (replace(PLACE, readable_by_others=True), "warning", "can be read by every user"),
        (replace(PLACE, remote="nfs4"), "wrong", "is on nfs4"),
        (replace(PLACE, free=500 * 10**6), "warning", "0.5 GB of 100 GB are free"),
        (replace(PLACE, free=4 * 10**9), "warning", "4.0 GB of 100 GB are free"),
        (replace(PLACE, free=10**6), "wrong", "0.0 GB of 100 GB are free"),
    ],
)
def test_what_is_wrong_with_where_it_is(place: PathFacts, level: str, said: str) -> None:
    ((how, text),) = troubles([*judge.of_file(place), judge.of_disk(place)])
    assert (how, said in text) == (level, True), text


@pytest.mark.parametrize(
    ("status", "body", "level", "said"),
    [
        (200, b"sesame", FindingLevel.OK, "answers in 100 ms"),
        (200, b"<html>", FindingLevel.WRONG, "but not as Waypost does"),
        (403, b"", FindingLevel.WRONG, "does not know the verify token"),
        (404, b"", FindingLevel.WRONG, "answers 404"),
        (502, b"", FindingLevel.WRONG, "answers 502"),
        (302, b"", FindingLevel.WRONG, "answers 302"),
    ],
)
def test_what_the_public_address_answers(status: int, body: bytes, level: FindingLevel, said: str) -> None:
    found = _judged(HttpReply(status, {}, body), "sesame", "webhook", 0.1)
    assert found.level is level
    assert said in found.text
    assert bool(found.remedy) is (level is not FindingLevel.OK)


def test_a_migration_is_asked_for_before_a_renewal() -> None:
    (old,) = [
        each for each in judge.of_postgres(replace(WELL, missing=["log"]), READERS) if each.level is FindingLevel.WRONG
    ]
    assert "run `waypost migrate`, then renew" in old.remedy
    assert "stop" not in old.remedy

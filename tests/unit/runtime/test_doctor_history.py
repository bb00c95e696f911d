"""What the doctor reports of replication, consistency, clocks and versions: a table."""

from __future__ import annotations

from typing import Any

import pytest

from waypost.adapters.cassandra.address import parse
from waypost.adapters.cassandra.facts import CassandraFacts, seconds_of
from waypost.runtime.doctor.history import _of_the_commit_log, _of_the_copies, _of_the_server, _of_the_time, findings


def some_facts(**fields: Any) -> CassandraFacts:
    standard: dict[str, Any] = {
        "product": "Cassandra",
        "version": "5.0.9",
        "centre": "dc1",
        "nodes": {"dc1": 3},
        "strategy": "NetworkTopologyStrategy",
        "copies": {"dc1": 3},
        "round_trip": 0.002,
        "skew": 0.001,
    }
    return CassandraFacts(**(standard | fields))


@pytest.mark.parametrize(
    ("level", "fields", "good", "said"),
    [
        ("LOCAL_QUORUM", {}, True, "1 of them may be lost"),
        ("LOCAL_QUORUM", {"copies": {"replication_factor": 3}}, True, "1 of them may be lost"),
        ("LOCAL_QUORUM", {"copies": {"dc1": 5}, "nodes": {"dc1": 9}}, True, "2 of them may be lost"),
        ("LOCAL_QUORUM", {"copies": {"dc1": 1}, "nodes": {"dc1": 1}}, None, "the only copy of every message"),
        ("LOCAL_QUORUM", {"copies": {"dc1": 1}}, False, "one lost node stops the history store"),
        ("LOCAL_QUORUM", {"copies": {"dc1": 2}}, False, "one lost node stops the history store"),
        ("ALL", {}, False, "one lost node stops the history store"),
        ("LOCAL_ONE", {}, False, "a read may miss"),
        ("ONE", {"copies": {"dc1": 2}}, False, "a read may miss"),
        ("LOCAL_QUORUM", {"copies": {"dc1": 4}}, False, "there are 3 nodes"),
        ("LOCAL_QUORUM", {"strategy": "SimpleStrategy", "nodes": {"dc1": 3, "dc2": 3}}, False, "ignores data centres"),
    ],
)
def test_copies_and_consistency_fit_together_or_not(level: str, fields: Any, good: bool | None, said: str) -> None:
    address = parse(f"cassandra://host/waypost?consistency={level}")
    ((found, text, remedy),) = _of_the_copies(some_facts(**fields), address)
    assert (found, said in text, bool(remedy)) == (good, True, not good)


@pytest.mark.parametrize(
    ("level", "fields", "good", "said"),
    [
        ("LOCAL_QUORUM", {"sync": "group"}, True, "loses nothing"),
        ("LOCAL_QUORUM", {"sync": "batch", "copies": {"dc1": 1}}, True, "loses nothing"),
        ("LOCAL_QUORUM", {"sync": "periodic", "sync_period": 10.0}, True, "only a crash of 2 nodes"),
        ("LOCAL_QUORUM", {"sync": "periodic", "sync_period": 10.0, "copies": {"dc1": 1}}, None, "in the last 10 s"),
        ("ONE", {"sync": "periodic", "sync_period": 10.0}, None, "appends it again"),
        ("LOCAL_QUORUM", {"sync": "periodic", "sync_period": 60.0}, False, "every 60 s"),
    ],
)
def test_a_commit_log_that_is_written_late_is_told(level: str, fields: Any, good: bool | None, said: str) -> None:
    address = parse(f"cassandra://host/waypost?consistency={level}")
    ((found, text, remedy),) = _of_the_commit_log(some_facts(**fields), address)
    assert (found, said in text, bool(remedy)) == (good, True, not good)


def test_of_a_commit_log_that_the_server_keeps_to_itself_nothing_is_told() -> None:
    assert list(_of_the_commit_log(some_facts(), parse("cassandra://host/waypost"))) == []


@pytest.mark.parametrize(("text", "expected"), [("10000ms", 10.0), ("10s", 10.0), ("2m", 120.0), ("", 0.0), ("x", 0.0)])
def test_a_duration_is_read_as_cassandra_writes_it(text: str, expected: float) -> None:
    assert seconds_of(text) == expected


@pytest.mark.parametrize(
    ("replication", "there", "told"),
    [
        ("?replication=3", {"dc1": 1}, ["says 3 copies in dc1, the keyspace waypost has 1"]),
        ("?replication=dc1:2,dc2:3", {"dc1": 3, "dc2": 3}, ["says 2 copies in dc1, the keyspace waypost has 3"]),
        ("?replication=3", {"replication_factor": 3}, []),
        ("?replication=dc1:3", {"dc1": 3}, []),
        ("", {"dc1": 5}, []),
    ],
)
def test_copies_that_are_wanted_and_not_there_are_told(replication: str, there: Any, told: list[str]) -> None:
    _, *others = _of_the_copies(some_facts(copies=there, nodes={"dc1": 5}), parse(f"cassandra://host{replication}"))
    assert [(level, text.partition("URL ")[2]) for level, text, remedy in others if remedy] == [(None, t) for t in told]


@pytest.mark.parametrize(
    ("fields", "good"),
    [
        ({"version": "5.0.9"}, True),
        ({"version": "4.1.3"}, True),
        ({"version": "4.0.12"}, False),
        ({"version": "5.1-alpha1"}, True),
        ({"product": "ScyllaDB", "version": "6.2.0-0.20241013"}, True),
    ],
)
def test_old_versions_are_told(fields: Any, good: bool) -> None:
    ((found, text, _),) = _of_the_server(some_facts(**fields))
    assert (found, fields["version"] in text) == (good, True)


@pytest.mark.parametrize(
    ("fields", "good"),
    [({}, [True, True]), ({"skew": -3.0}, [True, False]), ({"skew": 3.0, "round_trip": 0.5}, [False, False])],
)
def test_slow_answers_and_clocks_that_differ_are_told(fields: Any, good: list[bool]) -> None:
    assert [found for found, _, _ in _of_the_time(some_facts(**fields))] == good


async def test_of_a_log_in_the_database_nothing_is_said() -> None:
    assert await findings("") == []

"""WAYPOST_HISTORY_URL: what it may contain, and that its password is never shown."""

from __future__ import annotations

import pytest

from waypost.adapters.cassandra.address import (
    CassandraAddress,
    InvalidCassandraAddress,
    parse,
)
from waypost.runtime.settings.definitions import SECRET, SettingsError, load


def test_everything_that_can_be_said() -> None:
    said = (
        "cassandra://way:p%40ss@one,two:9043/talk?consistency=QUORUM&replication=dc1:3,dc2:2&dc=dc1"
        "&tls=identity&ca=/ca.pem&cert=/c.pem&key=/k.pem&timeout=2.5"
    )
    assert parse(said) == CassandraAddress(
        hosts=("one", "two"),
        port=9043,
        keyspace="talk",
        user="way",
        password="p@ss",
        consistency="QUORUM",
        replication="dc1:3,dc2:2",
        dc="dc1",
        tls="identity",
        ca="/ca.pem",
        cert="/c.pem",
        key="/k.pem",
        timeout=2.5,
    )
    assert parse(said).copies == {"dc1": 3, "dc2": 2}


def test_what_is_not_said() -> None:
    short = parse("scylla://one")
    assert short == CassandraAddress(hosts=("one",), port=9042, keyspace="waypost")
    assert (short.consistency, short.copies, short.tls) == ("LOCAL_QUORUM", {"replication_factor": 3}, "off")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("postgresql://host/x", "begin with cassandra://"),
        ("cassandra:///waypost", "no host"),
        ("cassandra://one,,two/waypost", "no host"),
        ("cassandra://one:1,two:2/waypost", "the same port"),
        ("cassandra://one:0/waypost", "the same port"),
        ("cassandra://one:x/waypost", "the same port"),
        ("cassandra://[one/waypost", "must be like"),
        ("cassandra://one/Way-post", "keyspace"),
        ("cassandra://one/x?consistency=SERIAL", "consistency must be one of"),
        ("cassandra://one/x?tls=yes", "tls must be one of"),
        ("cassandra://one/x?replication=0", "replication must be"),
        ("cassandra://one/x?replication=dc1:x", "replication must be"),
        ("cassandra://one/x?replication=dc1':1", "replication must be"),
        ("cassandra://one/x?dc=a'b", "dc must be"),
        ("cassandra://one/x?timeout=soon", "timeout must be"),
        ("cassandra://one/x?timeout=nan", "timeout must be"),
        ("cassandra://one/x?colour=blue", "no option 'colour'"),
        ("cassandra://one/x?cert=/c.pem", "needs both cert and key"),
        ("cassandra://one/x?tls", "must be like"),
    ],
)
def test_what_cannot_be_said(url: str, why: str) -> None:
    with pytest.raises(InvalidCassandraAddress, match=why):
        parse(url)


def test_the_password_is_shown_nowhere() -> None:
    address = parse("cassandra://way:geheim@one/waypost")
    assert "geheim" not in f"{address} {address!r}"
    assert "history_url" in SECRET
    with pytest.raises(SettingsError) as refused:
        load({"WAYPOST_HISTORY_URL": "cassandra://way:geheim@one/waypost", "WAYPOST_BOT_HISTORY": "x"})
    assert "geheim" not in str(refused.value)

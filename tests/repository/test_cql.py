"""The CQL files: what both databases understand, used, safe to repeat."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from waypost.adapters import cassandra
from waypost.adapters.cassandra.message_keys import BUCKET
from waypost.adapters.cassandra.statements import load
from waypost.model.time import days

SOURCE = Path(cassandra.__file__).parent
CQL = [path.read_text() for path in sorted(SOURCE.glob("*/*.cql"))]


def test_only_what_cassandra_and_scylladb_both_have_is_used() -> None:
    text = re.sub(r"--.*", "", "\n".join(CQL)).upper().replace("IF NOT EXISTS", "")
    banned = (
        "IF|DELETE|BATCH|COUNTER|INDEX|VIEW|FUNCTION|TYPE \\w+ \\(|ALLOW FILTERING|GROUP BY|STATIC|VECTOR|PER PARTITION"
    )
    assert re.findall(rf"\b({banned})\b", text) == []
    assert set(re.findall(r"'CLASS': '(\w+)'", text)) == {"TIMEWINDOWCOMPACTIONSTRATEGY"}


def test_a_compaction_window_is_as_long_as_a_bucket() -> None:
    (window,) = re.findall(r"'compaction_window_size': '(\d+)'", "\n".join(CQL))
    assert days(int(window)) == BUCKET


def test_every_statement_is_used_may_be_sent_again_and_says_when_it_was_written() -> None:
    code = "".join(path.read_text() for path in SOURCE.glob("*.py"))
    for name, statement in load().items():
        assert f'"{name}"' in code
        assert statement.idempotent
        bare = re.sub(r"--.*\n", "", statement.text)
        assert bare.startswith("SELECT") or "TIMESTAMP ?" in bare or name == "owner_claim"


def test_there_is_one_lightweight_transaction_and_what_is_said_does_not_go_through_it() -> None:
    found = [name for name, statement in load().items() if "IF NOT EXISTS" in statement.text]
    assert found == ["owner_claim"]


def test_the_wheel_holds_the_cql() -> None:
    assert files("waypost.adapters.cassandra").joinpath("migrations", "0001_log.cql").is_file()

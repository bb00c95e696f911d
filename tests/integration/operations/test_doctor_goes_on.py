"""`waypost doctor` names the failing part with its remedy, and still examines all the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from waypost.adapters.cassandra import facts as cassandra
from waypost.adapters.cassandra import schema
from waypost.adapters.cassandra.history import CassandraHistory
from waypost.adapters.sqlite.store import SqliteStore
from waypost.ports.platform.failure import LedgerError, Unavailable
from waypost.runtime.doctor import history
from waypost.runtime.doctor.examine import Inspect, examine
from waypost.runtime.doctor.findings import DoctorFinding, wrong

pytestmark = pytest.mark.may_block("a command has nothing else to do")
NEWER = schema.WrongHistorySchema("the history store has schema 9, this Waypost knows 1: run a newer Waypost")
LOG = "cassandra://127.0.0.1/waypost"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "waypost.db"
    store = SqliteStore(path)
    store.migrate()
    store.close()
    monkeypatch.setenv("WAYPOST_ENV", "local")
    monkeypatch.setenv("WAYPOST_DATABASE_URL", f"sqlite:///{path}")
    monkeypatch.setenv("WAYPOST_REDIS_URL", "redis://127.0.0.1:1")
    monkeypatch.setenv("WAYPOST_HISTORY_URL", LOG)
    return path


async def well(url: str) -> Sequence[tuple[bool, str, str]]:
    return [(True, f"looked at {url}", "")]


ASKED: dict[str, Inspect] = {"redis_url": well, "history_url": well}
BOTH = {"looked at redis://127.0.0.1:1", f"looked at {LOG}"}


async def found(capsys: pytest.CaptureFixture[str], services: dict[str, Inspect] = ASKED) -> dict[str, str]:
    """Text and remedy of everything."""
    await examine(as_json=True, services=services)
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return {each["text"]: each.get("remedy", "") for each in told["findings"]}


async def test_with_the_database_away_redis_and_the_log_are_looked_at(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYPOST_DATABASE_URL", "postgresql://me@127.0.0.1:1/x")
    told = await found(capsys)
    (text,) = [text for text in told if text.startswith("database: PostgreSQL cannot be reached")]
    assert told[text] == "check WAYPOST_DATABASE_URL, and that the database is running"
    assert told.keys() >= BOTH


async def test_an_address_that_cannot_be_read_hides_nothing_else(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYPOST_DATABASE_URL", "mysql://me@127.0.0.1/x")
    assert (await found(capsys)).keys() >= BOTH | {
        "WAYPOST_DATABASE_URL must start with sqlite:/// or postgresql://",
    }


async def test_a_database_of_a_newer_version_needs_a_newer_waypost(
    capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    store = SqliteStore(here)
    store._connection.execute("PRAGMA user_version = 999")
    store.close()
    told = await found(capsys)
    (text,) = [text for text in told if text.startswith("database: the database has schema 999, this Waypost knows")]
    assert told[text] == "run a newer Waypost"
    assert told.keys() >= BOTH


async def test_a_bot_that_cannot_be_made_hides_nothing_else(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYPOST_BOT", "nobody")
    told = await found(capsys)
    assert "there is no org yet" in told
    assert any(text.startswith("WAYPOST_BOT must be none") for text in told)


@pytest.mark.parametrize(
    ("failure", "text", "remedy"),
    [
        (
            schema.missing("waypost"),
            "history: the history store has no keyspace waypost",
            "run `waypost migrate` first",
        ),
        (NEWER, "history: the history store has schema 9, this Waypost knows 1", "run a newer Waypost"),
        (
            Unavailable("nobody answers"),
            "history: nobody answers",
            "check WAYPOST_HISTORY_URL and that the cluster runs",
        ),
    ],
)
async def test_a_log_that_is_wrong_is_not_called_the_database(
    failure: LedgerError, text: str, remedy: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_: object) -> None:
        raise failure

    monkeypatch.setattr(CassandraHistory, "connect", fails)
    monkeypatch.setattr(cassandra, "read_facts", fails)
    told = await found(capsys, {**ASKED, "history_url": history.findings})
    assert told[text] == remedy
    assert "there is no org yet" in told, "the database was looked at"
    assert not [text for text in told if text.startswith("database: ")]


async def test_a_log_whose_address_cannot_be_read_is_not_called_unnamed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> list[DoctorFinding]:
        return [wrong("but none is set", "name it")]

    monkeypatch.setattr(history, "of_bodies", away)
    monkeypatch.setenv("WAYPOST_HISTORY_URL", "cassandra://127.0.0.1/Not-A-Keyspace")
    told = await found(capsys, {**ASKED, "history_url": history.findings})
    assert "but none is set" not in told
    assert any(text.startswith("WAYPOST_HISTORY_URL cannot be used: its keyspace") for text in told)
    monkeypatch.setenv("WAYPOST_HISTORY_URL", "")
    assert "but none is set" in await found(capsys)

"""What real databases report of themselves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from waypost.adapters.postgres import facts as postgres
from waypost.adapters.postgres import schema
from waypost.adapters.sqlite import facts as sqlite
from waypost.adapters.sqlite.backup import back_up
from waypost.adapters.sqlite.store import SqliteStore
from waypost.ports.platform.failure import Unavailable
from waypost.runtime.doctor.examine import _check_services
from waypost.runtime.doctor.findings import DoctorReport
from waypost.runtime.settings.definitions import Settings


async def test_postgresql_tells_its_settings_its_time_and_what_a_migration_would_do(postgres_url: str) -> None:
    empty = await postgres.facts(postgres_url)
    assert (empty.schema, empty.missing[:2]) == (0, ["foundation", "policy"])
    await schema.migrate(postgres_url)
    found = await postgres.facts(postgres_url)
    assert (found.missing, found.copying, found.in_recovery, found.standbys) == ([], False, False, [])
    assert set(found.settings) == set(postgres._SETTINGS)
    assert found.version >= 150_000
    assert abs(found.ahead) < 1
    assert 0 < found.answered_in < 10
    assert found.connections >= 1


async def test_a_clock_that_is_wrong_is_seen(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time
    monkeypatch.setattr("waypost.adapters.postgres.facts.time.time", lambda: real() + 3600)
    found = await postgres.facts(postgres_url)
    assert found.ahead == pytest.approx(-3600, abs=5)


async def test_nobody_who_answers_is_unavailable_and_shows_no_password() -> None:
    with pytest.raises(Unavailable) as failure:
        await postgres.facts("postgresql://me:hush@127.0.0.1:1/x")
    assert "hush" not in str(failure.value)


def made(path: Path) -> Path:
    store = SqliteStore(path)
    store.migrate()
    store.close()
    return path


def test_a_file_tells_what_it_is(tmp_path: Path) -> None:
    path = made(tmp_path / "waypost.db")
    found = sqlite.facts(path)
    assert (found.journal, found.missing, found.is_a_copy, found.damage) == ("wal", [], False, None)
    back_up(path, tmp_path / "copy")
    assert sqlite.facts(tmp_path / "copy").is_a_copy
    place = sqlite.place(path)
    assert place.total > place.free > 0
    assert place.writable


def test_a_file_that_is_damaged_or_none_at_all_is_named(tmp_path: Path) -> None:
    path = made(tmp_path / "waypost.db")
    whole = bytearray(path.read_bytes())
    for at in range(len(whole) - 3 * 4096, len(whole)):
        whole[at] ^= 0xFF
    path.write_bytes(whole)
    assert sqlite.facts(path).damage
    path.write_text("this is no database, but a text of some length" * 100)
    with pytest.raises(Unavailable, match="SQLite cannot use"):
        sqlite.facts(path)


async def test_redis_and_the_log_are_asked_by_whoever_knows_them(capsys: pytest.CaptureFixture[str]) -> None:
    async def asked(url: str) -> Sequence[tuple[bool, str, str]]:
        await asyncio.sleep(0)
        assert url == "redis://here"
        return [(True, "Redis 7", ""), (False, "evicts keys", "set maxmemory-policy noeviction")]

    findings = DoctorReport(as_json=False)
    settings = cast(Settings, SimpleNamespace(redis_url="redis://here", history_url=""))
    await _check_services(settings, {"redis_url": asked}, findings)
    assert findings.end() == 1
    told = capsys.readouterr().out
    assert told == "ok    Redis 7\nwrong evicts keys\n      → set maxmemory-policy noeviction\n"

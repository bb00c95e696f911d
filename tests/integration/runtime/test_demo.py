"""What the demo prints about itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from waypost.runtime.cli.demo import demo_services, demo_settings, lock_demo_folder
from waypost.runtime.settings.definitions import Settings, SettingsError

ECHO = "Customers are answered by the bot echo."
ELSEWHERE = "goes before --data; here has only the demo's keys."


@pytest.mark.parametrize(
    ("given", "set_by", "told"),
    [
        ({}, [], [ECHO, "The database is here/waypost.db."]),
        (
            {"bot": "waiter:answer"},
            ["WAYPOST_BOT"],
            ["Customers are answered by the bot waiter:answer.", "The database is here/waypost.db."],
        ),
        (
            {"bot": "none"},
            ["WAYPOST_BOT"],
            ["No bot answers customers, since WAYPOST_BOT is none.", "The database is here/waypost.db."],
        ),
        (
            {"database_url": "sqlite:///crash/waypost.db"},
            ["WAYPOST_DATABASE_URL"],
            [ECHO, f"The database is crash/waypost.db, since WAYPOST_DATABASE_URL {ELSEWHERE}"],
        ),
        (
            {"database_url": "postgresql://me:hush@db/x?password=hush"},
            [],
            [ECHO, f"The database is postgresql, since database_url in waypost.toml {ELSEWHERE}"],
        ),
    ],
)
def test_it_says_which_bot_answers_and_where_its_database_is(
    given: dict[str, Any], set_by: list[str], told: list[str]
) -> None:
    here = Path("here")
    settings = demo_settings(Settings(**given), here)
    assert demo_services(settings, here, dict.fromkeys(set_by, "")) == told


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("file", "made: a file has that name"),
        ("file/below", "made: Not a directory"),
        ("taken", "written to: Is a directory"),
    ],
)
def test_a_folder_that_cannot_be_had_is_told_with_what_to_do(tmp_path: Path, data: str, why: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "taken" / "demo.lock").mkdir(parents=True)
    with pytest.raises(SettingsError) as told:
        lock_demo_folder(tmp_path / data)
    assert str(told.value) == f"the folder {tmp_path / data} cannot be {why}; choose another with --data"

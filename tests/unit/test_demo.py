"""What the demo says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from waypost.runtime.demo import demo_settings, what_it_uses
from waypost.runtime.settings import Settings

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
    given: dict[str, str], set_by: list[str], told: list[str]
) -> None:
    here = Path("here")
    settings = demo_settings(Settings(**given), here)
    assert what_it_uses(settings, here, dict.fromkeys(set_by, "")) == told

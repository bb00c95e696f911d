"""Which addresses of a database are taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from waypost.runtime.settings import SettingsError
from waypost.runtime.wiring import sqlite_path


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://localhost/waypost",
        "postgresql://me:hu,sh@one:5432/waypost",
        "postgresql://me@one:5432,two:5433/waypost",
        "postgres://me@[::1]:5432,two/waypost?sslmode=require",
    ],
)
def test_an_address_on_postgresql_names_one_host_or_several(url: str) -> None:
    assert sqlite_path(url) is None


def test_a_sqlite_address_names_a_file() -> None:
    assert sqlite_path("sqlite:///data/waypost.db") == Path("data/waypost.db")


@pytest.mark.parametrize(
    "url", ["postgresql://one:x/waypost", "postgresql://one:5432,two:70000/waypost", "mysql://one/x"]
)
def test_what_is_no_address_is_refused_with_a_reason(url: str) -> None:
    with pytest.raises(SettingsError, match="WAYPOST_DATABASE_URL"):
        sqlite_path(url)

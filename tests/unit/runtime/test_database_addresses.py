"""Which database addresses are accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from waypost.runtime.settings.addresses import check_postgres
from waypost.runtime.settings.definitions import Settings, SettingsError
from waypost.runtime.wiring.hint_transports import redis_address
from waypost.runtime.wiring.history_store import history_address
from waypost.runtime.wiring.wiring import sqlite_path


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://localhost/waypost",
        "postgresql://me:hu,sh@one:5432/waypost",
        "postgresql://me@one:5432,two:5433/waypost",
        "postgres://me@[::1]:5432,two/waypost?sslmode=require",
        "postgresql://db/waypost?user=me@corp&sslmode=require",
        "postgresql://me:a%2Fb%40c@db/waypost",
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


SECRETS = ["top/half", "top?half", "top#half", "12/half", "12?half", "12#half", "t@p/half", "[top]/half", "top:x/half"]
"""Passwords that end an address if they are not escaped."""


@pytest.mark.parametrize("secret", SECRETS)
def test_a_password_that_was_not_encoded_is_not_shown_and_what_to_do_is_said(secret: str) -> None:
    url = f"postgresql://me:{secret}@127.0.0.1:1/x"
    for check in (sqlite_path, lambda url: check_postgres(url, "--to")):
        with pytest.raises(SettingsError, match="/ as %2F") as refused:
            check(url)
        assert not any(piece in str(refused.value) for piece in ("top", "t@p", "half", "12"))


@pytest.mark.parametrize("secret", ["top?half", "12?half", "top/half", "top#half", "12#half"])
def test_nor_is_one_of_the_log_or_of_redis(secret: str) -> None:
    with pytest.raises(SettingsError, match="/ as %2F") as refused:
        history_address(f"cassandra://me:{secret}@127.0.0.1:1/x")
    assert "half" not in str(refused.value)
    if "?" in secret:
        with pytest.raises(SettingsError, match="/ as %2F") as refused:
            redis_address(Settings(redis_url=f"redis://me:{secret}@127.0.0.1:1/0"))
        assert "half" not in str(refused.value)

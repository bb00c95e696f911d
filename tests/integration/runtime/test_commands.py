"""How commands print without a terminal, and which key they find."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from waypost.runtime.cli.tables import show, table
from waypost.runtime.settings.definitions import Settings, SettingsError
from waypost.runtime.wiring.wiring import DEMO_ACCOUNT, open_vault, with_demo_settings

LONG = "a reason of many words, " * 20


def test_a_table_that_is_piped_is_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    table(["id", "reason", "last"], [["1", LONG, "the end"], ["2", "short", "the end"]], as_json=False)
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["id", "reason", "last"]
    assert LONG.strip() in first
    assert first.endswith("the end")
    assert second.split() == ["2", "short", "the", "end"]


def test_facts_that_are_piped_are_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    show({"reason": LONG}, as_json=False)
    assert LONG.strip() in capsys.readouterr().out


def test_a_command_on_the_demos_database_finds_the_demos_key(tmp_path: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'waypost.db'}")
    sealed = open_vault(Settings(env="local", database_url=settings.database_url)).seal("token", "a purpose")
    assert with_demo_settings(settings) == settings, "a key beside a database is not enough"
    with pytest.raises(SettingsError):
        open_vault(with_demo_settings(settings))
    (tmp_path / DEMO_ACCOUNT).write_text("{}")
    assert open_vault(with_demo_settings(settings)).open(sealed, "a purpose") == "token"


def test_a_key_that_is_given_is_the_one_that_counts(tmp_path: Path) -> None:
    for name in (DEMO_ACCOUNT, "waypost.key"):
        (tmp_path / name).write_text("{}")
    given = Settings(secret_key="k" * 44, database_url=f"sqlite:///{tmp_path / 'waypost.db'}")
    assert with_demo_settings(given) == given
    on_postgres = Settings(database_url="postgresql://localhost/waypost")
    assert with_demo_settings(on_postgres) == on_postgres


@pytest.mark.parametrize(("argument", "code"), [("--version", 0), ("--versoin", 2)])
def test_a_command_ends_with_its_code_and_without_the_interpreters_end(argument: str, code: int) -> None:
    """There a thread of the HTTP client may abort the process after the work is done."""
    ending = f"import atexit, sys; atexit.register(print, 'the end'); sys.argv = ['waypost', '{argument}']"
    command = [sys.executable, "-c", f"{ending}; from waypost.runtime.cli.app import main; main()"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, "the end" in ran.stdout) == (code, False)
    assert ran.stdout.startswith("waypost ") or ran.stderr.startswith("waypost: ")


def test_what_could_not_be_written_is_a_failure() -> None:
    """A key is shown once: a user who saves it on a full disk must get an error."""
    command = [
        sys.executable,
        "-c",
        "import sys; from waypost.runtime.process.exiting import exit_now; print('key'); exit_now(0)",
    ]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=buffered, check=False)
    assert (ran.returncode, ran.stderr) == (1, "waypost: the output could not be written: No space left on device\n")
    read, write = os.pipe()
    os.close(read)
    assert subprocess.run(command, stdout=write, env=buffered, check=False).returncode == 0, "nobody listens"
    os.close(write)

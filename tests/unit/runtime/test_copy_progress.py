"""A copy reports its progress without a terminal, and what to do after Ctrl-C."""

from __future__ import annotations

import io

import pytest

from waypost.runtime.cli.admin import copying, maintenance
from waypost.runtime.cli.admin.copy_progress import EVERY, TextProgress, shown
from waypost.runtime.cli.app import CommandFailed


def test_a_line_now_and_then_and_one_at_the_end_of_a_table() -> None:
    file, now = io.StringIO(), [0.0]
    lines = TextProgress(file, lambda: now[0])
    lines.begin("entry", 50, 10)
    for done in (20, 30, 40, 50):
        now[0] += EVERY / 2
        lines.at(done)
    lines.end()
    lines.begin("turn", 0)
    lines.end()
    assert file.getvalue() == "entry: 30 of 50\nentry: 50 of 50\n"


def test_without_a_terminal_there_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with shown() as progress:
        progress.begin("org", 2)
        progress.at(2)
        progress.end()
    assert capsys.readouterr().err == "org: 2 of 2\n"


def test_who_cuts_it_off_is_told_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def cut(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(copying, "copy", cut)
    monkeypatch.setenv("WAYPOST_DATABASE_URL", "sqlite:///waypost.db")
    with pytest.raises(CommandFailed, match="run the same command again to continue"):
        maintenance.copy(to="postgresql://127.0.0.1:1/x")

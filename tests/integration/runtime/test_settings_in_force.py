"""How settings are shown: each with its source, and no secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from waypost.model.setting import SettingInForce, SettingSource
from waypost.runtime.settings.definitions import SECRET, Settings, SettingsError, load
from waypost.runtime.settings.in_force import settings_in_force


def in_force_by_name(
    environment: dict[str, str], file: Path, settings: Settings | None = None
) -> dict[str, SettingInForce]:
    in_force = settings or load(environment, file)
    return {each.name: each for each in settings_in_force(in_force, environment, file)}


def test_each_names_where_it_comes_from_and_the_environment_wins(tmp_path: Path) -> None:
    file = tmp_path / "waypost.toml"
    file.write_text("turn_slots = 7\noutbound_pace = 5\n")
    found = in_force_by_name({"WAYPOST_OUTBOUND_PACE": "9"}, file)
    pace, slots, batch = (
        found[f"WAYPOST_{name}"] for name in ("OUTBOUND_PACE", "TURN_SLOTS", "OUTBOUND_WORKER_BATCH_SIZE")
    )
    assert (pace.value, pace.source, pace.default) == ("9", SettingSource.ENVIRONMENT, "80")
    assert (slots.value, slots.source) == ("7", SettingSource.FILE)
    assert (batch.value, batch.source) == ("100", SettingSource.DEFAULT)
    assert "claimed at once" in batch.about
    assert len(found) == len(Settings.__struct_fields__)


def test_what_the_command_chose_is_neither_a_default_nor_given(tmp_path: Path) -> None:
    assert in_force_by_name({}, tmp_path / "none", Settings(env="local"))["WAYPOST_ENV"].source is SettingSource.COMMAND


def test_no_secret_is_told_only_whether_there_is_one(tmp_path: Path) -> None:
    given = {f"WAYPOST_{name.upper()}": "hunter2-hunter2-hunter2-hunter2-xyz" for name in SECRET}
    given |= {
        "WAYPOST_DATABASE_URL": "postgresql://me:hunter2@db/x",
        "WAYPOST_BOT_URL": "https://me:hunter2@bot.example/ask",
    }
    found = in_force_by_name(given, tmp_path / "none")
    assert "hunter2" not in repr(found)
    assert all(found[f"WAYPOST_{name.upper()}"].given for name in SECRET)
    assert found["WAYPOST_BOT_URL"].value == "https://…@bot.example/ask"
    assert not in_force_by_name({}, tmp_path / "none")["WAYPOST_SECRET_KEY"].given


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("ENV", "prod", "local or production"),
        ("LOG_LEVEL", "loud", "debug or info or warning or error"),
        ("OUTBOUND_UNSURE", "resend", "requeue or park"),
    ],
)
def test_a_word_that_is_none_of_them_is_refused_with_those_that_there_are(
    name: str, given: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as refused:
        load({f"WAYPOST_{name}": given}, tmp_path / "none")
    assert str(refused.value) == f"WAYPOST_{name} cannot be {given!r}: it must be {words}"


def test_another_value_is_refused_with_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"WAYPOST_TURN_SLOTS cannot be '0': Expected `int` >= 1"):
        load({"WAYPOST_TURN_SLOTS": "0"}, tmp_path / "none")

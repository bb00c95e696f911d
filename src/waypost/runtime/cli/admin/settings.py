"""`waypost admin settings`: the settings that a server started here would use."""

from __future__ import annotations

import os

import typer

from waypost.model.setting import SettingInForce
from waypost.runtime.cli.tables import JsonOption, table
from waypost.runtime.settings.definitions import load
from waypost.runtime.settings.in_force import settings_in_force


def register(app: typer.Typer) -> None:
    app.command()(settings)


def settings(json: JsonOption = False) -> None:
    """Show the settings in force here, and where each comes from: the environment, waypost.toml or the default."""
    found = settings_in_force(load(), os.environ)
    rows = [[each.name, _value(each), each.source.value] for each in found]
    table(["name", "value", "source"], rows, as_json=json)


def _value(setting: SettingInForce) -> str:
    """Of a secret, only whether it is set."""
    if setting.value is not None:
        return setting.value
    return "set" if setting.given else "not set"

"""`waypost admin settings`: what a server that is started here and now would be told to do."""

from __future__ import annotations

import os

import typer

from waypost.model.setting import SettingInForce
from waypost.runtime.settings import load
from waypost.runtime.settings_in_force import settings_in_force
from waypost.runtime.tables import Json, table


def register(app: typer.Typer) -> None:
    app.command()(settings)


def settings(json: Json = False) -> None:
    """The settings in force here, and where each comes from: the environment, waypost.toml or the default."""
    found = settings_in_force(load(), os.environ)
    rows = [[each.name, _value(each), each.source.value] for each in found]
    table(["name", "value", "source"], rows, as_json=json)


def _value(setting: SettingInForce) -> str:
    """A secret is only told to be there."""
    if setting.value is not None:
        return setting.value
    return "set" if setting.given else "not set"

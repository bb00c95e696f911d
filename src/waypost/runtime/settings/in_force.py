"""The settings in force and where each comes from; of a secret, only whether it is set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

from msgspec import Meta

from waypost.model.setting import SettingInForce, SettingSource
from waypost.runtime.settings.definitions import FILE, PREFIX, SECRET, Settings, written_in

_PERSON = re.compile(r"(?<=://)[^/@\s]+(?=@)")
"""The user and password in an address."""
_DEFAULTS = Settings()


def settings_in_force(settings: Settings, environment: Mapping[str, str], file: Path = FILE) -> list[SettingInForce]:
    """In the order of the reference page; reads waypost.toml."""
    written = written_in(file)
    hints = get_type_hints(Settings, include_extras=True)
    return [
        _in_force(settings, name, hints[name], _source(settings, name, environment, written))
        for name in Settings.__struct_fields__
    ]


def _source(settings: Settings, name: str, environment: Mapping[str, str], written: Mapping[str, Any]) -> SettingSource:
    """The source that `load` used; any other value comes from how the server was started."""
    if PREFIX + name.upper() in environment:
        return SettingSource.ENVIRONMENT
    if name in written:
        return SettingSource.FILE
    return SettingSource.DEFAULT if getattr(settings, name) == getattr(_DEFAULTS, name) else SettingSource.COMMAND


def _in_force(settings: Settings, name: str, hint: Any, source: SettingSource) -> SettingInForce:
    value, default = (_shown(getattr(each, name)) for each in (settings, _DEFAULTS))
    secret = name in SECRET
    (meta,) = (each for each in hint.__metadata__ if isinstance(each, Meta))
    return SettingInForce(
        name=PREFIX + name.upper(),
        value=None if secret else value,
        given=value != "",
        source=source,
        default=None if secret else default,
        about=meta.description or "",
    )


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return _PERSON.sub("…", f"{value:g}" if isinstance(value, float) else str(value))

"""The settings in force, each with where it comes from, for people to read: a secret is only told to be there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

from msgspec import Meta

from waypost.model.setting import SettingInForce, Source
from waypost.runtime.settings import FILE, PREFIX, SECRET, Settings, written_in

_PERSON = re.compile(r"(?<=://)[^/@\s]+(?=@)")
"""In an address that may be shown, who asks there, and by which password."""
_DEFAULTS = Settings()


def settings_in_force(settings: Settings, environment: Mapping[str, str], file: Path = FILE) -> list[SettingInForce]:
    """In the order of the reference. Reads the file."""
    written = written_in(file)
    hints = get_type_hints(Settings, include_extras=True)
    return [
        _told(settings, name, hints[name], _source(settings, name, environment, written))
        for name in Settings.__struct_fields__
    ]


def _source(settings: Settings, name: str, environment: Mapping[str, str], written: Mapping[str, Any]) -> Source:
    """The one that `load` takes; what it does not know of was decided by how the server was started."""
    if PREFIX + name.upper() in environment:
        return Source.ENVIRONMENT
    if name in written:
        return Source.FILE
    return Source.DEFAULT if getattr(settings, name) == getattr(_DEFAULTS, name) else Source.COMMAND


def _told(settings: Settings, name: str, hint: Any, source: Source) -> SettingInForce:
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

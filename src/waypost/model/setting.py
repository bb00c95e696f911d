"""A setting in force as shown to operators, with its source and without secrets."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class SettingSource(StrEnum):
    DEFAULT = "default"
    ENVIRONMENT = "environment"
    FILE = "file"
    COMMAND = "command"
    """Set by the command that started the server."""


class SettingInForce(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """Its environment variable."""
    value: str | None
    """None for a secret."""
    given: bool
    """Whether it has a value."""
    source: SettingSource
    default: str | None
    about: str

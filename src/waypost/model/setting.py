"""A setting as it is in force, for people to read: where it comes from, and never a secret."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Source(StrEnum):
    DEFAULT = "default"
    ENVIRONMENT = "environment"
    FILE = "file"
    COMMAND = "command"
    """Chosen by how the server was started."""


class SettingInForce(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """As in the environment."""
    value: str | None
    """None: a secret, which is told to nobody."""
    given: bool
    """Whether it has a value at all."""
    source: Source
    default: str | None
    about: str

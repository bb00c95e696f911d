"""Loads Python objects that a setting names as `module:attribute`."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from waypost.runtime.settings.definitions import PREFIX, SettingsError


def load(reference: str, setting: str) -> Any:
    """From the import path, then from the current folder."""
    module, _, attribute = reference.partition(":")
    if not (_dotted(module) and _dotted(attribute)):
        raise SettingsError(f"{PREFIX}{setting} must be written module:name, like shop.bot:answer, not {reference!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # last, so that a file here does not shadow another module
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise SettingsError(f"{PREFIX}{setting}: {module} cannot be imported: {why}") from error
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise SettingsError(f"{PREFIX}{setting}: {module} has no {attribute}")
        found = getattr(found, name)
    return found


def load_async_function(reference: str, setting: str) -> Any:
    found = load(reference, setting)
    if not callable(found):
        raise SettingsError(f"{PREFIX}{setting}: {reference} is not a function")
    if not (inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(type(found).__call__)):
        raise SettingsError(f"{PREFIX}{setting}: {reference} must be an async function: `async def`")
    return found


def _dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))

"""Unknown WAYPOST_ variables in the environment, each with the setting that was probably meant."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

from waypost.runtime.settings.definitions import PREFIX, Settings

NO_SETTINGS = frozenset({"KEY", "MAILBOX_PASSWORD", "IMAGE", "WITHOUT_PAGE", "CASES"})
"""Other variables that commands, pages, the Compose file and the build read."""
_TEST = f"{PREFIX}TEST_"
_OF_KUBERNETES = re.compile(r"_SERVICE_(HOST|PORT)(_\w+)?$|_PORT_\d+_(TCP|UDP)(_\w+)?$")
"""Kubernetes sets variables for every Service, and ours are called waypost-…"""
_LINK = ("tcp://", "udp://")


def unknown_settings(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each name with the closest setting, or None; without values, which may be passwords."""
    known = [PREFIX + name.upper() for name in Settings.__struct_fields__]
    others = [name for name in sorted(environment) if name.upper().startswith(PREFIX) and name not in known]
    strange = [name for name in others if not _is_of_another(name, environment[name])]
    return [(name, next(iter(get_close_matches(name.upper(), known, 1)), "")) for name in strange]


def _is_of_another(name: str, value: str) -> bool:
    if name.removeprefix(PREFIX) in NO_SETTINGS or name.startswith(_TEST) or _OF_KUBERNETES.search(name):
        return True
    return name.endswith("_PORT") and value.startswith(_LINK)

"""Settings in the environment that do not exist: each with the one that was probably meant."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

from waypost.runtime.settings import PREFIX, Settings

NO_SETTINGS = frozenset({"KEY", "MAILBOX_PASSWORD", "IMAGE", "WITHOUT_PAGE", "CASES"})
"""What commands, pages, the Compose file and the build read besides."""
_TEST = f"{PREFIX}TEST_"
_OF_KUBERNETES = re.compile(r"_SERVICE_(HOST|PORT)(_\w+)?$|_PORT_\d+_(TCP|UDP)(_\w+)?$")
"""It tells every container of every Service, and ours are called waypost-…"""
_LINK = ("tcp://", "udp://")


def misspelt(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """By name; the second is the nearest that there is, or nothing. No value is told: it may be a password."""
    known = [PREFIX + name.upper() for name in Settings.__struct_fields__]
    others = [name for name in sorted(environment) if name.upper().startswith(PREFIX) and name not in known]
    strange = [name for name in others if not _is_of_another(name, environment[name])]
    return [(name, next(iter(get_close_matches(name.upper(), known, 1)), "")) for name in strange]


def _is_of_another(name: str, value: str) -> bool:
    if name.removeprefix(PREFIX) in NO_SETTINGS or name.startswith(_TEST) or _OF_KUBERNETES.search(name):
        return True
    return name.endswith("_PORT") and value.startswith(_LINK)

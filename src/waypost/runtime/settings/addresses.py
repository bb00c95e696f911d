"""Checks addresses that may hold a password; errors never repeat a part of the address."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from waypost.runtime.settings.definitions import SettingsError

ENCODE = "in a password write / as %2F, ? as %3F, # as %23 and @ as %40"
_OPTION = re.compile(r"\?[^@]*=")


def is_cut(url: str, at: str = "/?#") -> bool:
    """Whether an unescaped /, ? or # in the password ends the host part too early: an @ follows it."""
    end = re.search(f"[{at}]", url.partition("://")[2])
    before, found, _ = end.string[end.start() :].rpartition("@") if end else ("", "", "")
    return bool(found) and not _OPTION.search(before)


def check_postgres(url: str, named: str = "WAYPOST_DATABASE_URL") -> None:
    """Checks every port; an address may have several hosts, one of which accepts writes."""
    if is_cut(url):
        raise SettingsError(f"{named} cannot be read: {ENCODE}")
    try:
        for host in urlsplit(url).netloc.rpartition("@")[2].split(","):
            _ = urlsplit(f"//{host}").port
    except ValueError:  # its message repeats a part of the address
        raise SettingsError(f"{named} cannot be read: the port after a host must be 0 to 65535; {ENCODE}") from None

"""Addresses that may hold a password: one that is cut at the wrong place is refused without a piece of it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from waypost.runtime.settings import SettingsError

ENCODE = "in a password write / as %2F, ? as %3F, # as %23 and @ as %40"
_OPTION = re.compile(r"\?[^@]*=")


def is_cut(url: str, at: str = "/?#") -> bool:
    """Whether something stands behind the host that belongs before it: a password holds what ends it in an address."""
    end = re.search(f"[{at}]", url.partition("://")[2])
    before, found, _ = end.string[end.start() :].rpartition("@") if end else ("", "", "")
    return bool(found) and not _OPTION.search(before)


def check_postgres(url: str, named: str = "WAYPOST_DATABASE_URL") -> None:
    """Every port is one: there may be several hosts, of which one takes writes."""
    if is_cut(url):
        raise SettingsError(f"{named} cannot be read: {ENCODE}")
    try:
        for host in urlsplit(url).netloc.rpartition("@")[2].split(","):
            _ = urlsplit(f"//{host}").port
    except ValueError:  # what it says names a piece of the address
        raise SettingsError(
            f"{named} cannot be read: what follows a host and : must be a port, 0 to 65535; {ENCODE}"
        ) from None

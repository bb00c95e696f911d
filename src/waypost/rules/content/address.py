"""Web addresses that we send requests to."""

from __future__ import annotations

import ipaddress
import re

_WEB = re.compile(
    r"https?://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::(?P<port>[0-9]{1,5}))?"
    r"(?:/[A-Za-z0-9._~/-]*)?",
    re.ASCII,
)
_NUMERIC = re.compile(r"(?:.*\.)?(?:0[xX])?[0-9]+", re.ASCII)
"""A host whose last label is a number is an IPv4 address to every client."""


def web_address(text: str) -> str | None:
    """An http(s) address without a trailing slash, query or credentials; None for anything else."""
    found = _WEB.fullmatch(text)
    if found is None or not _possible(found["host"]) or int(found["port"] or 80) not in range(1, 65536):
        return None
    return text.rstrip("/")


def _possible(host: str) -> bool:
    if not host.startswith("[") and not _NUMERIC.fullmatch(host):
        return True
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True

"""Addresses that we send to."""

from __future__ import annotations

import re

_WEB = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+(?:/[A-Za-z0-9._~/\-]*)?", re.ASCII)


def web_address(text: str) -> str | None:
    """An http(s) address without a trailing slash, query or credentials; None for anything else."""
    return text.rstrip("/") if _WEB.fullmatch(text) else None

"""Phone numbers, normalised once, at the edge."""

from __future__ import annotations

import re

_DROPPED = str.maketrans("", "", " .-()[]")
_NUMBER = re.compile(r"\+?([0-9]{7,15})", re.ASCII)


def phone(text: str) -> str | None:
    """`+` and 7 to 15 digits, or None; spaces, dots, dashes and brackets are dropped."""
    found = _NUMBER.fullmatch(text.translate(_DROPPED))
    return f"+{found.group(1)}" if found else None

"""A way in that works once."""

from __future__ import annotations

import msgspec

from waypost.model.time import Instant


class OfferedCode(msgspec.Struct, frozen=True):
    """Kept in memory only, by the process that offered it."""

    token: str
    until: Instant

    def __repr__(self) -> str:
        """Without the token: this may reach a log."""
        return f"OfferedCode(until={self.until})"

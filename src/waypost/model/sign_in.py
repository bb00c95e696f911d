"""A one-time sign-in code."""

from __future__ import annotations

import msgspec

from waypost.model.time import Instant


class OfferedCode(msgspec.Struct, frozen=True):
    """Kept only in the memory of the process that issued it."""

    token: str
    until: Instant

    def __repr__(self) -> str:
        """Omits the token, since this may be logged."""
        return f"OfferedCode(until={self.until})"

"""The Log: every message of every conversation, for ever, read backwards from any place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from waypost.model.conversation import ConversationId, Entry, Position
from waypost.model.time import Instant


class Log(Protocol):
    """What the Ledger has decided is kept here. Nothing is decided here: whatever is appended again stays the same."""

    async def append(self, entries: Sequence[Entry]) -> None:
        """Keep these, in any order; one that is kept already is left as it is, also when it was erased since."""

    async def page(self, conversation: ConversationId, before: Position, limit: int) -> Sequence[Entry]:
        """The latest before a position, newest first; as fast at any depth. Erased ones keep their place."""

    async def erase(self, conversation: ConversationId, position: Position, at: Instant) -> None:
        """Leave nothing of an entry but its place, at once and for good; of one that is not here, nothing."""

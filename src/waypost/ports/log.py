"""The Log: every message of every conversation, for ever, read backwards from any place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from waypost.model.conversation import Entry, Spot
from waypost.model.log import Line, Mark
from waypost.model.time import Instant

__all__ = ["Line", "Log", "Mark"]


class Log(Protocol):
    """What the Ledger has decided is kept here. Nothing is decided here: every call may come again, late or twice."""

    async def append(self, lines: Sequence[Line]) -> None:
        """Keep these, in any order, each at its spot; one that is kept already stays, also when it was erased since."""

    async def page(self, before: Spot, limit: int) -> Sequence[Entry]:
        """The latest of a conversation before a spot, newest first; as fast at any depth. Erased ones keep their
        place; the spot itself need not be there."""

    async def some(self, spots: Sequence[Spot]) -> Sequence[Entry]:
        """Those of them that are kept, in any order, the same one once; of any conversations."""

    async def erase(self, spots: Sequence[Spot], at: Instant) -> None:
        """Leave nothing of these entries but their place, at once and for good; of one that is not here, nothing:
        whoever erases what is not appended yet appends it first."""

    async def settle(self, marks: Sequence[Mark]) -> None:
        """Keep with an entry how far it came; of one that is not here, nothing is left."""

    async def ping(self) -> None:
        """Raise Unavailable unless it answers."""

    async def close(self) -> None: ...

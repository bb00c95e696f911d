"""A Log in memory, for simulations and tests: kept by spots, as another store would."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from waypost.model.conversation import ConversationId, Entry, Spot
from waypost.model.time import Instant
from waypost.ports.log import Line, Mark

Key = tuple[ConversationId, Instant]
"""Of a spot: these never change, a position may."""


class MemoryLog:
    """Nothing expires here."""

    def __init__(self) -> None:
        self.kept: dict[Key, Entry] = {}
        self._standing: dict[Key, int] = {}

    async def append(self, lines: Sequence[Line]) -> None:
        for line in lines:
            spot = line.entry.spot
            here = {"conversation_id": spot.conversation_id, "id_at": spot.id_at, "kept_in": None, "kept_at": None}
            self.kept.setdefault(_key(spot), replace(line.entry, deleted_at=None, status=None, **here))

    async def page(self, before: Spot, limit: int) -> Sequence[Entry]:
        earlier = [key for key in self.kept if key[0] == before.conversation_id and key[1] < before.id_at]
        return [self.kept[key] for key in sorted(earlier, reverse=True)[:limit]]

    async def some(self, spots: Sequence[Spot]) -> Sequence[Entry]:
        wanted = dict.fromkeys(map(_key, spots))
        return [self.kept[key] for key in wanted if key in self.kept]

    async def erase(self, spots: Sequence[Spot], at: Instant) -> None:
        for key in map(_key, spots):
            if key in self.kept:
                self.kept[key] = replace(self.kept[key], type="deleted", body="{}", deleted_at=at)

    async def settle(self, marks: Sequence[Mark]) -> None:
        for mark in marks:
            key, standing = _key(mark.spot), mark.generation * 10 + mark.rank
            if key in self.kept and standing > self._standing.get(key, -1):
                self._standing[key] = standing
                self.kept[key] = replace(self.kept[key], status=mark.status)

    async def ping(self) -> None:
        """It is always there."""

    async def close(self) -> None:
        """It goes with the process."""


def _key(spot: Spot) -> Key:
    return spot.conversation_id, spot.id_at

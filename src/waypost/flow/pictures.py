"""What a customer sent along, for a bot that can look at it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from waypost.model.ids import OrgId
from waypost.model.media import MediaFile, MediaId, MediaState
from waypost.model.time import Span, seconds
from waypost.ports.clock import Clock
from waypost.ports.media import Files, Shelf, ShelfError

Pictures: TypeAlias = Callable[[str, str], Awaitable[bytes | None]]
"""From an org and one of its media ids to the file; None if it is not there (yet, or any more)."""

LOOKS = 20
LOOK_EVERY: Span = seconds(0.25)
"""A file is fetched while the customer's burst is still under way: five seconds more are patience enough."""


def pictures(files: Files, shelf: Shelf, clock: Clock) -> Pictures:
    async def load(org: str, media: str) -> bytes | None:
        file = await _fetched(OrgId(org), media, files, clock)
        if file is None or file.key is None or file.size is None:
            return None
        try:
            return b"".join([piece async for piece in shelf.read(file.key, 0, file.size)])
        except ShelfError:
            return None

    return load


async def _fetched(org: OrgId, media: str, files: Files, clock: Clock) -> MediaFile | None:
    for _ in range(LOOKS):
        file = await files.get(org, MediaId(int(media)))
        if file is None or file.state is not MediaState.PENDING:
            return file
        await clock.sleep(LOOK_EVERY)
    return None

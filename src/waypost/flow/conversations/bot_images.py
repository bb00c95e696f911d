"""Loads the images that customers sent, for bots that can see them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from waypost.model.ids import OrgId
from waypost.model.media import MediaFile, MediaId, MediaState
from waypost.model.time import Span, seconds
from waypost.ports.platform.clock import Clock
from waypost.ports.receiving.media import BlobStore, BlobStoreError, Files

Pictures: TypeAlias = Callable[[str, str], Awaitable[bytes | None]]
"""Maps an org and a media id to the file's bytes; None if it is not stored."""

LOOKS = 20
LOOK_EVERY: Span = seconds(0.25)
"""Five seconds in all: usually the file was fetched before the turn began."""


def pictures(files: Files, blob_store: BlobStore, clock: Clock) -> Pictures:
    async def load(org: str, media: str) -> bytes | None:
        file = await _fetched(OrgId(org), media, files, clock)
        if file is None or file.key is None or file.size is None:
            return None
        try:
            return b"".join([piece async for piece in blob_store.read(file.key, 0, file.size)])
        except BlobStoreError:
            return None

    return load


async def _fetched(org: OrgId, media: str, files: Files, clock: Clock) -> MediaFile | None:
    for _ in range(LOOKS):
        file = await files.get(org, MediaId(int(media)))
        if file is None or file.state is not MediaState.PENDING:
            return file
        await clock.sleep(LOOK_EVERY)
    return None

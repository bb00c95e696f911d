"""Uploaded and received files, within a limit of bytes."""

from __future__ import annotations

import hashlib

import msgspec

from waypost.model.time import Instant, Span, days
from waypost.ports.platform.clock import Clock, Ids
from waypost.sandbox.store.numbers import SandboxNumber

UPLOAD_KEPT = days(30)
INBOUND_KEPT = days(7)


class SandboxMedia(msgspec.Struct, frozen=True):
    id: str
    phone_number_id: str
    token: str
    content: bytes
    mime_type: str
    digest: bytes
    expires: Instant
    key: str
    """The key that signs its download links."""


class MediaStore:
    def __init__(self, clock: Clock, ids: Ids, most_bytes: int) -> None:
        self._clock = clock
        self._ids = ids
        self._most_bytes = most_bytes
        self._bytes = 0
        self._count = 0
        self._by_id: dict[str, SandboxMedia] = {}

    def store(self, number: SandboxNumber, content: bytes, mime_type: str, kept: Span) -> SandboxMedia:
        self._count += 1
        media = SandboxMedia(
            id=str(2_000_000_000_000_000 + self._count),
            phone_number_id=number.phone_number_id,
            token=number.token,
            content=content,
            mime_type=mime_type,
            digest=hashlib.sha256(content).digest(),
            expires=Instant(self._clock.now() + kept),
            key=self._ids.token(16),
        )
        self._by_id[media.id] = media
        self._bytes += len(content)
        while self._bytes > self._most_bytes and len(self._by_id) > 1:
            self.remove(next(iter(self._by_id)))
        return media

    def get(self, media_id: str) -> SandboxMedia | None:
        media = self._by_id.get(media_id)
        return media if media and self._clock.now() < media.expires else None

    def remove(self, media_id: str) -> None:
        media = self._by_id.pop(media_id, None)
        self._bytes -= len(media.content) if media else 0

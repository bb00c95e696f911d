"""Customers' files: their rows in the Ledger, their source at the provider, and the blob store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import msgspec

from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import OrgId, WorkerId
from waypost.model.media import MediaFile, MediaId, MediaState
from waypost.model.time import Instant, Span
from waypost.ports.sending.provider import Sender
from waypost.rules.receiving.media_fetch import FetchFailure, FetchVerdict


class Files(Protocol):
    """File rows in the Ledger; each is created in the same transaction as its message."""

    async def claim(self, owner: WorkerId, limit: int, lease: Span, now: Instant) -> Sequence[MediaFile]:
        """Claim up to `limit` due files, oldest first, for the lease; each claim counts as an attempt.

        Concurrent claims never return the same file. A file that is not settled in time is due again.
        """

    async def settle(self, file: MediaFile, verdict: FetchVerdict, now: Instant) -> bool:
        """Record the result of a claimed attempt; False, without a change, if the claim was lost."""

    async def next_due(self) -> Instant | None:
        """When the next file may be claimed."""

    async def get(self, org: OrgId, media: MediaId) -> MediaFile | None:
        """The file; None if the org has no such file."""

    async def between(
        self, org: OrgId, conversation: ConversationId, first: Position, last: Position
    ) -> Sequence[MediaFile]:
        """The files between two positions of a conversation, both included, in order."""

    async def in_state(self, org: OrgId, state: MediaState, before: MediaId, limit: int) -> Sequence[MediaFile]:
        """The org's files with a smaller id than `before`, newest first."""

    async def retry(self, org: OrgId, media: MediaId, now: Instant) -> MediaFile | None:
        """Retry a failed file: attempts from 0, due now; None if the org has no such failed file."""

    async def ended_before(self, moment: Instant, limit: int, after: MediaFile | None = None) -> Sequence[MediaFile]:
        """Stored and failed files of messages before `moment`, oldest first; `after` is the last file already seen."""

    async def forget(self, files: Sequence[MediaId]) -> None:
        """Prune these rows, except those that are pending again."""


class BlobStoreError(Exception):
    """The blob store failed: no space, no permission, or not found."""


class BlobStore(Protocol):
    """Bytes by key. A key has letters, digits, `.`, `_`, `-` and `/` as separator; anything else raises ValueError."""

    async def put(self, key: str, content: bytes) -> None:
        """Store it atomically, durable on return; an existing value is replaced."""

    async def size(self, key: str) -> int | None:
        """None if the key does not exist."""

    def read(self, key: str, first: int, count: int) -> AsyncIterator[bytes]:
        """`count` bytes from `first` on, in chunks; BlobStoreError if some are missing."""

    async def delete(self, key: str) -> bool:
        """False if the key did not exist."""


class MediaLink(msgspec.Struct, frozen=True):
    """A download link, valid for some minutes."""

    url: str
    sha256: str | None
    size: int | None
    mime_type: str | None = None


class LinkExpired(msgspec.Struct, frozen=True):
    """The link has expired; request a new one."""


class MediaSource(Protocol):
    """Files at the provider. Never raises for a network fault; sends the token only where `may_get_token` allows."""

    async def find(self, sender: Sender, provider_id: str) -> MediaLink | MediaRefused | FetchFailure: ...

    async def download(
        self, sender: Sender, link: MediaLink, limit: int
    ) -> bytes | LinkExpired | MediaRefused | FetchFailure:
        """The whole file, if it has at most `limit` bytes."""


class MediaRefused(msgspec.Struct, frozen=True):
    """An error of the provider; the error catalogue defines whether a retry can help."""

    code: str
    message: str

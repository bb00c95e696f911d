"""Customers' files: what the Ledger knows of each, where it comes from, and the shelf that its bytes are kept on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import msgspec

from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import OrgId, WorkerId
from waypost.model.media import MediaFile, MediaId, MediaState
from waypost.model.time import Instant, Span
from waypost.ports.provider import Sender
from waypost.rules.fetching import Trouble, Verdict


class Files(Protocol):
    """In the Ledger. A row comes into being with its message, in the same transaction."""

    async def claim(self, owner: WorkerId, limit: int, lease: Span, now: Instant) -> Sequence[MediaFile]:
        """Take up to `limit` that are due, oldest first, for as long as the lease; each try is counted here.

        Two who claim at once never get the same one. What is not settled in time is due again.
        """

    async def settle(self, file: MediaFile, verdict: Verdict, now: Instant) -> bool:
        """Write what became of a claimed try; False, and nothing changes, when it is no longer this claim's."""

    async def next_due(self) -> Instant | None:
        """When the next one may be claimed."""

    async def get(self, org: OrgId, media: MediaId) -> MediaFile | None:
        """None when the org has no such file."""

    async def between(
        self, org: OrgId, conversation: ConversationId, first: Position, last: Position
    ) -> Sequence[MediaFile]:
        """The files of a stretch of a conversation, both ends included, in its order."""

    async def in_state(self, org: OrgId, state: MediaState, before: MediaId, limit: int) -> Sequence[MediaFile]:
        """The org's files with a smaller id than `before`, newest first."""

    async def retry(self, org: OrgId, media: MediaId, now: Instant) -> MediaFile | None:
        """Have a failed one tried again, counted from 0, due now; None when the org has no such failed file."""

    async def ended_before(self, moment: Instant, limit: int, after: MediaFile | None = None) -> Sequence[MediaFile]:
        """Stored and failed ones whose message is older, oldest first; `after` is the last of the page before."""

    async def forget(self, files: Sequence[MediaId]) -> None:
        """Forget these, unless one is to be fetched again by now."""


class ShelfError(Exception):
    """The shelf could not do it: no room, no right, not there."""


class Shelf(Protocol):
    """Bytes by key. A key is ours: letters, digits, `.`, `_`, `-`, parted by `/`; anything else is a ValueError."""

    async def put(self, key: str, content: bytes) -> None:
        """Keep it, whole or not at all, and safe from a crash on return; what was there before is replaced."""

    async def size(self, key: str) -> int | None:
        """None when there is nothing under this key."""

    def read(self, key: str, first: int, count: int) -> AsyncIterator[bytes]:
        """So many bytes from `first` on, in pieces; ShelfError when they are not all there."""

    async def delete(self, key: str) -> bool:
        """False when there was nothing."""


class Link(msgspec.Struct, frozen=True):
    """Where a file can be had for the next minutes."""

    url: str
    sha256: str | None
    size: int | None
    mime_type: str | None = None


class Outdated(msgspec.Struct, frozen=True):
    """The link is over; a new one may be asked for."""


class Source(Protocol):
    """The provider's side. Neither raises for a network fault, and the token goes only where `may_get_token` allows."""

    async def find(self, sender: Sender, provider_id: str) -> Link | Refused | Trouble: ...

    async def download(self, sender: Sender, link: Link, limit: int) -> bytes | Outdated | Refused | Trouble:
        """The whole file, if it has at most `limit` bytes."""


class Refused(msgspec.Struct, frozen=True):
    """An error of the provider's: the catalogue decides whether another try can help."""

    code: str
    message: str

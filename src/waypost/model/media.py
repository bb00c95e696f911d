"""A file that came with a customer's message: from the provider's note of it to the bytes on our shelf."""

from __future__ import annotations

from enum import StrEnum
from typing import NewType

import msgspec

from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import NumberId, OrgId, WorkerId
from waypost.model.time import Instant

MediaId = NewType("MediaId", int)


class MediaState(StrEnum):
    PENDING = "pending"
    """Not here yet; somebody will fetch it when it is due."""
    STORED = "stored"
    FAILED = "failed"
    """Given up; a person may have it tried again."""
    ERASED = "erased"
    """Its message was taken back: nobody is shown it any more, and it is soon gone."""


class FileNote(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a screen shows of a file beside its bytes."""

    id: MediaId
    state: MediaState
    mime_type: str
    filename: str | None
    """The customer's own, never to be trusted."""
    size: int | None


class MediaFile(msgspec.Struct, frozen=True, kw_only=True):
    id: MediaId
    org_id: OrgId
    number: NumberId
    conversation_id: ConversationId
    position: Position
    provider_id: str
    mime_type: str
    """As the webhook told it; of a stored one, what it is kept as."""
    told_sha256: str | None
    filename: str | None
    """The customer's own, never to be trusted."""
    state: MediaState
    tries: int
    """Counted at each claim, so it tells one try from the next: who holds an old one has lost the file."""
    due_at: Instant | None
    """When it may be claimed: a claim puts it off by its lease. None once it is stored or failed."""
    owner: WorkerId | None
    created_at: Instant
    size: int | None = None
    sha256: str | None = None
    """Ours, of the bytes that are kept: hex."""
    key: str | None = None
    """Where it lies on the shelf."""
    error: str | None = None
    """Why the latest try failed."""
    stored_at: Instant | None = None

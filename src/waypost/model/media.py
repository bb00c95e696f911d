"""Files attached to customers' messages: their state and where they are stored."""

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
    """Not fetched yet; a worker fetches it when it is due."""
    STORED = "stored"
    FAILED = "failed"
    """Given up; a person may retry it."""
    ERASED = "erased"
    """Its message was deleted: the file is no longer shown, and will be deleted soon."""


class FileSummary(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file's data as shown in a conversation, without its bytes."""

    id: MediaId
    state: MediaState
    mime_type: str
    filename: str | None
    """Chosen by the customer; untrusted."""
    size: int | None


class MediaFile(msgspec.Struct, frozen=True, kw_only=True):
    id: MediaId
    org_id: OrgId
    number: NumberId
    conversation_id: ConversationId
    position: Position
    provider_id: str
    mime_type: str
    """From the webhook; for a stored file, the type it is stored as."""
    told_sha256: str | None
    filename: str | None
    """Chosen by the customer; untrusted."""
    state: MediaState
    tries: int
    """Incremented at each claim, so it identifies the attempt: a worker with an older value has lost the file."""
    due_at: Instant | None
    """When it may be claimed; a claim postpones it by its lease. None once it is stored or failed."""
    owner: WorkerId | None
    created_at: Instant
    size: int | None = None
    sha256: str | None = None
    """Computed from the stored bytes: hex."""
    key: str | None = None
    """Its key in the blob store."""
    error: str | None = None
    """Why the latest attempt failed."""
    stored_at: Instant | None = None

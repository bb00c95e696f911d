"""Reads of messages; every read is limited to one org."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from waypost.model.ids import Fence, MessageId, OrgId
from waypost.model.message import Attempt, Message, MessageEvent, Status
from waypost.model.time import Instant


class Query(msgspec.Struct, frozen=True, kw_only=True):
    dossier_id: int | None = None
    status: Status | None = None
    recipient: str | None = None
    before: MessageId | None = None
    """Only smaller ids: the next page, unaffected by new messages."""


class PageQuery(msgspec.Struct, frozen=True, kw_only=True):
    dossier_id: int | None
    page: int
    size: int
    ascending: bool


class FoundMessages(msgspec.Struct, frozen=True):
    messages: Sequence[Message]
    total: int


class StatusRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A status update as received from the provider."""

    at: Instant
    received_at: Instant
    kind: str
    body: str
    wamid: str = ""
    fence: Fence | None = None
    """The fence of its attempt."""
    error_code: str | None = None


class MessageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Everything recorded about one message."""

    message: Message
    attempts: Sequence[Attempt]
    statuses: Sequence[StatusRecord]
    events: Sequence[MessageEvent]


class Messages(Protocol):
    async def get(self, org: OrgId, message: MessageId) -> Message | None:
        """The message, if it is this org's."""

    async def some(self, org: OrgId, messages: Sequence[MessageId]) -> Sequence[Message]:
        """The messages of this org among them, in any order."""

    async def life(self, org: OrgId, message: MessageId) -> MessageRecord | None:
        """The message with its attempts (oldest first), status updates and events, if it is this org's."""

    async def lives(self, org: OrgId, dossier_id: int | None, limit: int) -> Sequence[MessageRecord]:
        """The org's newest messages, or those of one dossier, newest first, each with its full record."""

    async def used_key(self, org: OrgId, idempotency_key: str) -> bool:
        """Whether a message was stored under this key."""

    async def find(self, org: OrgId, query: Query, limit: int) -> Sequence[Message]:
        """This org's messages that match, newest first."""

    async def dead(self, org: OrgId, error_code: str | None, before: MessageId | None, limit: int) -> Sequence[Message]:
        """This org's FAILED messages, newest first; only those with this error code and of smaller id, where given."""

    async def page(self, org: OrgId, query: PageQuery) -> FoundMessages:
        """One page of this org's messages by creation, with the total."""

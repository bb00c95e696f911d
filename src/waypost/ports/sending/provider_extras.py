"""Provider calls besides sending: read receipts, uploads and lookups; never queued."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import msgspec

from waypost.model.outcome import LookedUp, ProviderRejected, Unreached, Unsure
from waypost.ports.sending.provider import Sender


class ProviderCallDone(msgspec.Struct, frozen=True, tag=True):
    id: str | None = None
    """The id of the upload."""


ProviderCallResult: TypeAlias = ProviderCallDone | ProviderRejected | Unreached | Unsure


class MultipartForm(msgspec.Struct, frozen=True):
    """The request body of an upload; holds a single copy of the file."""

    boundary: str
    body: bytes


class ProviderExtras(Protocol):
    async def mark_read(self, sender: Sender, message_id: str, *, typing: bool) -> ProviderCallResult:
        """Mark a customer's message as read and optionally show a typing indicator; once, never raises."""

    async def upload(self, sender: Sender, form: MultipartForm) -> ProviderCallResult:
        """Upload a file, to be sent by its id; once, never raises for a network fault."""

    async def look_up(self, sender: Sender) -> LookedUp:
        """Read the number's record with its own token; changes nothing at the provider, never raises."""

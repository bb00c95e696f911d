"""Audit entries that no other row records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from waypost.model.audit import AuditEntry, RecordedEntry
from waypost.model.ids import OrgId


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    entity_type: str | None = None
    entity_id: str | None = None
    """Only together with `entity_type`."""
    before: int | None = None
    """Only entries with a smaller number."""


class Audit(Protocol):
    async def append(self, entries: Sequence[AuditEntry]) -> None:
        """Write them, all or none, in this order."""

    async def find(self, org: OrgId, query: AuditQuery, limit: int) -> Sequence[RecordedEntry]:
        """The org's entries that match, newest first."""

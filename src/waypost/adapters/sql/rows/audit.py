"""The audit trail in SQL: append-only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Plan, each
from waypost.adapters.sql.rows import message_rows
from waypost.model.audit import AuditAction, AuditEntry, Entity, RecordedEntry
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.ports.operations.audit import AuditQuery

BEYOND_ALL = 2**63 - 1


class SqlAudit:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def append(self, entries: Sequence[AuditEntry]) -> None:
        await self._engine.transact(written(*entries))

    async def find(self, org: OrgId, query: AuditQuery, limit: int) -> Sequence[RecordedEntry]:
        before = BEYOND_ALL if query.before is None else query.before
        if query.entity_type is None:
            found = await self._engine.read("audit_newest", org, before, limit)
        elif query.entity_id is None:
            found = await self._engine.read("audit_by_type", org, before, limit, query.entity_type)
        else:
            found = await self._engine.read("audit_by_entity", org, before, limit, query.entity_type, query.entity_id)
        return [message_rows.recorded(row) for row in found]


def written(*entries: AuditEntry) -> Plan[None]:
    """Part of every plan that makes an audited change."""
    yield from each("audit_insert", [message_rows.audit_row(entry) for entry in entries])


class AuditContext(NamedTuple):
    """The org, actor and time of an audited change."""

    org: OrgId
    actor: str
    at: Instant

    def written(self, action: AuditAction, entity: Entity, entity_id: str, details: str) -> Plan[None]:
        """Append the entry in the same transaction as the change."""
        entry = AuditEntry(
            org_id=self.org,
            at=self.at,
            entity_type=entity,
            entity_id=entity_id,
            action=action,
            actor=self.actor,
            details=details,
        )
        yield from written(entry)

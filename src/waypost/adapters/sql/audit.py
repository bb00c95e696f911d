"""The audit trail in SQL: appended, never changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from waypost.adapters.sql import rows
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Plan, each
from waypost.model.audit import Action, Entity, Entry, Recorded
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.ports.audit import AuditQuery

BEYOND_ALL = 2**63 - 1


class SqlAudit:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def append(self, entries: Sequence[Entry]) -> None:
        await self._engine.transact(written(*entries))

    async def find(self, org: OrgId, query: AuditQuery, limit: int) -> Sequence[Recorded]:
        before = BEYOND_ALL if query.before is None else query.before
        if query.entity_type is None:
            found = await self._engine.read("audit_newest", org, before, limit)
        elif query.entity_id is None:
            found = await self._engine.read("audit_by_type", org, before, limit, query.entity_type)
        else:
            found = await self._engine.read("audit_by_entity", org, before, limit, query.entity_type, query.entity_id)
        return [rows.recorded(row) for row in found]


def written(*entries: Entry) -> Plan[None]:
    """For any plan that changes what must be audited."""
    yield from each("audit_insert", [rows.audit_row(entry) for entry in entries])


class Deed(NamedTuple):
    """Who changes something of which org, and when."""

    org: OrgId
    actor: str
    at: Instant

    def written(self, action: Action, entity: Entity, entity_id: str, details: str) -> Plan[None]:
        """Into the trail, by the transaction of the change itself."""
        entry = Entry(
            org_id=self.org,
            at=self.at,
            entity_type=entity,
            entity_id=entity_id,
            action=action,
            actor=self.actor,
            details=details,
        )
        yield from written(entry)

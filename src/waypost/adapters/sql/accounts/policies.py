"""Policies in SQL: one JSON text per org, replaced as a whole."""

from __future__ import annotations

from collections.abc import Mapping

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan, each
from waypost.adapters.sql.rows.audit import AuditContext
from waypost.model.audit import SYSTEM, AuditAction, Entity
from waypost.model.ids import OrgId
from waypost.model.policy import Policy
from waypost.rules.accounts.policy import differing, read, settings


class SqlPolicies:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def all(self) -> Mapping[OrgId, Policy]:
        return {OrgId(org): read(stored) for org, stored in await self._engine.read("policies_all")}

    async def get(self, org: OrgId) -> Policy:
        found = await self._engine.read("policy_get", org)
        return read(found[0][0]) if found else Policy()

    async def put(self, org: OrgId, policy: Policy, instead_of: Policy | None = None, actor: str = SYSTEM) -> bool:
        return await self._engine.transact(_put(policy, instead_of, AuditContext(org, actor, self._engine.now())))


def _put(policy: Policy, instead_of: Policy | None, audit: AuditContext) -> Plan[bool]:
    yield Once("policy_ensure", (audit.org,))
    ((stored,),) = yield Once("policy_get", (audit.org,))
    if instead_of is None:
        yield Once("policy_put", (audit.org, settings(policy)))
    elif not (yield Once("policy_swap", (audit.org, settings(policy), settings(instead_of)))):
        return False
    before = instead_of or read(stored)
    if changed := differing(before, policy):
        yield from audit.written(AuditAction.POLICY_CHANGED, Entity.ORG, audit.org, f"changed: {', '.join(changed)}")
    if before.quiet_hours != policy.quiet_hours:
        yield from _wake(audit)
    return True


def _wake(audit: AuditContext) -> Plan[None]:
    """Check messages that the previous quiet hours deferred again."""
    asleep = yield Once("quiet_ended", (audit.org, audit.at))
    yield from each("later_sooner", sorted((row[0], audit.at) for row in asleep))

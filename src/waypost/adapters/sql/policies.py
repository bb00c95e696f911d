"""Policies in SQL: one JSON text per org, replaced whole."""

from __future__ import annotations

from collections.abc import Mapping

from waypost.adapters.sql.audit import Deed
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Once, Plan, each
from waypost.model.audit import SYSTEM, Action, Entity
from waypost.model.ids import OrgId
from waypost.model.policy import Policy
from waypost.rules.policy import differing, read, settings


class SqlPolicies:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def all(self) -> Mapping[OrgId, Policy]:
        return {OrgId(org): read(stored) for org, stored in await self._engine.read("policies_all")}

    async def get(self, org: OrgId) -> Policy:
        found = await self._engine.read("policy_get", org)
        return read(found[0][0]) if found else Policy()

    async def put(self, org: OrgId, policy: Policy, instead_of: Policy | None = None, actor: str = SYSTEM) -> bool:
        return await self._engine.transact(_put(policy, instead_of, Deed(org, actor, self._engine.now())))


def _put(policy: Policy, instead_of: Policy | None, deed: Deed) -> Plan[bool]:
    yield Once("policy_ensure", (deed.org,))
    ((stored,),) = yield Once("policy_get", (deed.org,))
    if instead_of is None:
        yield Once("policy_put", (deed.org, settings(policy)))
    elif not (yield Once("policy_swap", (deed.org, settings(policy), settings(instead_of)))):
        return False
    before = instead_of or read(stored)
    if changed := differing(before, policy):
        yield from deed.written(Action.POLICY_CHANGED, Entity.ORG, deed.org, f"changed: {', '.join(changed)}")
    if before.quiet_hours != policy.quiet_hours:
        yield from _wake(deed)
    return True


def _wake(deed: Deed) -> Plan[None]:
    """Whoever was put off by the quiet hours that were is judged anew."""
    asleep = yield Once("quiet_ended", (deed.org, deed.at))
    yield from each("later_sooner", sorted((row[0], deed.at) for row in asleep))

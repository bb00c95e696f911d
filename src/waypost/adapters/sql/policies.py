"""Policies in SQL: one JSON text per org, replaced whole."""

from __future__ import annotations

from collections.abc import Mapping

from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Once, Plan
from waypost.model.ids import OrgId
from waypost.model.policy import Policy
from waypost.rules.policy import read, settings


class SqlPolicies:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def all(self) -> Mapping[OrgId, Policy]:
        return {OrgId(org): read(stored) for org, stored in await self._engine.read("policies_all")}

    async def get(self, org: OrgId) -> Policy:
        found = await self._engine.read("policy_get", org)
        return read(found[0][0]) if found else Policy()

    async def put(self, org: OrgId, policy: Policy, instead_of: Policy | None = None) -> bool:
        return await self._engine.transact(_put(org, policy, instead_of))


def _put(org: OrgId, policy: Policy, instead_of: Policy | None) -> Plan[bool]:
    if instead_of is None:
        yield Once("policy_put", (org, settings(policy)))
        return True
    yield Once("policy_ensure", (org,))
    return bool((yield Once("policy_swap", (org, settings(policy), settings(instead_of)))))

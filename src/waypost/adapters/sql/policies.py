"""Policies in SQL: one JSON text per org, replaced whole."""

from __future__ import annotations

from collections.abc import Mapping

from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Once, Plan, each
from waypost.model.ids import OrgId
from waypost.model.policy import Policy
from waypost.model.time import Instant
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
        return await self._engine.transact(_put(org, policy, instead_of, self._engine.now()))


def _put(org: OrgId, policy: Policy, instead_of: Policy | None, now: Instant) -> Plan[bool]:
    if instead_of is None:
        yield Once("policy_put", (org, settings(policy)))
    else:
        yield Once("policy_ensure", (org,))
        if not (yield Once("policy_swap", (org, settings(policy), settings(instead_of)))):
            return False
    asleep = yield Once("quiet_ended", (org, now))
    yield from each("later_sooner", sorted((row[0], now) for row in asleep))
    return True

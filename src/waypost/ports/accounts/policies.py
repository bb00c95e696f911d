"""Policies of orgs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from waypost.model.audit import SYSTEM
from waypost.model.ids import OrgId
from waypost.model.policy import Policy


class Policies(Protocol):
    async def all(self) -> Mapping[OrgId, Policy]:
        """The policies of all orgs that have set one."""

    async def get(self, org: OrgId) -> Policy:
        """The policy of this org; empty if it never set one."""

    async def put(self, org: OrgId, policy: Policy, instead_of: Policy | None = None, actor: str = SYSTEM) -> bool:
        """Replace the org's whole policy; with `instead_of`, only if the current one equals it, otherwise False.

        The changed settings are audited in the same transaction as an action of `actor`. New quiet hours make messages
        that the old ones deferred due at once; other changes do not affect queued messages.
        """

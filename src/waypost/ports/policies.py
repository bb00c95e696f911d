"""What orgs have set for themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from waypost.model.audit import SYSTEM
from waypost.model.ids import OrgId
from waypost.model.policy import Policy


class Policies(Protocol):
    async def all(self) -> Mapping[OrgId, Policy]:
        """Of every org that has set anything."""

    async def get(self, org: OrgId) -> Policy:
        """What this org has set; an org that never set anything has an empty one."""

    async def put(self, org: OrgId, policy: Policy, instead_of: Policy | None = None, actor: str = SYSTEM) -> bool:
        """Replace the org's policy whole; with `instead_of`, only while it still is that one, else False.

        What changed is named in the audit trail, in the same transaction, as what `actor` did. Other quiet hours make
        due at once what the former ones put off; any other change leaves it where it is.
        """

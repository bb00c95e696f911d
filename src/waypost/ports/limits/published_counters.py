"""Published quota and throttle counters for dashboards and other systems; no decision depends on them."""

from __future__ import annotations

from typing import Protocol

from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.rules.limits.send_pace import Permit


class Counters(Protocol):
    """Never blocks and never fails; the next update corrects a lost one."""

    def drawn(self, org: OrgId, quota: Permit) -> None:
        """Publish a quota after a claim committed. Claims of several processes may come in any order."""

    def stands(self, org: OrgId, quota: Permit, throttled_until: Instant | None) -> None:
        """Publish values just read from the Ledger."""

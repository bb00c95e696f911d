"""Counters of quota and throttle for dashboards and other systems; nothing is decided by them."""

from __future__ import annotations

from typing import Protocol

from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.rules.pacing import Permit


class Counters(Protocol):
    """Never waits and never fails; what is lost is put right by the next word."""

    def drawn(self, org: OrgId, quota: Permit) -> None:
        """As a claim left it, after its commit. Claims of several processes may come in any order."""

    def stands(self, org: OrgId, quota: Permit, throttled_until: Instant | None) -> None:
        """As the Ledger was just read."""

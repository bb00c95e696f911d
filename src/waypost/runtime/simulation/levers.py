"""What operators change while messages wait: quotas, held and disabled numbers."""

from __future__ import annotations

from waypost.runtime.simulation.callers import Crowd, Org, phone
from waypost.runtime.simulation.cluster import SharedLedger
from waypost.runtime.simulation.record import Record

PLENTY = 1000
FEW = (3, 8, 15, PLENTY)


class Levers:
    """Straight into the Ledger where the API is not what is tried, so that the moment of a change is known exactly."""

    def __init__(self, ledger: SharedLedger, record: Record) -> None:
        self._ledger = ledger
        self._record = record

    def pull(self, crowd: Crowd) -> None:
        for org in crowd.orgs:
            crowd.errand(self._change_quota(crowd, org))
            crowd.errand(self._renew_token(crowd, org))

    async def let_go(self, crowd: Crowd) -> None:
        """Nothing that a person could change stands in the way any more, so that everything can come to rest."""
        for org in crowd.orgs:
            self._limit(org, PLENTY)
            for number in range(4):
                self._grant(org, phone(number))
            await crowd.change_number(org, "release", {"token": org.token})

    # Quota

    async def _change_quota(self, crowd: Crowd, org: Org) -> None:
        """Lowered below what was sent, and raised again."""
        while await crowd.pause(300):
            self._limit(org, crowd.dice.choice(FEW))

    def set_limits(self, crowd: Crowd) -> None:
        """Before the first message goes."""
        for org in crowd.orgs:
            self._limit(org, crowd.dice.choice(FEW))

    def _limit(self, org: Org, most: int) -> None:
        self._ledger.limit(org.name, most)
        self._record.limits.setdefault(org.name, []).append((self._record.now(), most))

    # Consent

    def _grant(self, org: Org, customer: str) -> None:
        self._ledger.grant(org.name, customer)
        self._record.consent(org.name, customer, granted=True)

    # Holds

    async def _renew_token(self, crowd: Crowd, org: Org) -> None:
        """What a person does about a hold, when they find the time."""
        while await crowd.pause(240):
            await crowd.change_number(org, "release", {"token": org.token})

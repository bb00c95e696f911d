"""What operators change while messages wait: quotas, held and disabled numbers."""

from __future__ import annotations

from waypost_testing.stories.cluster import SharedLedger
from waypost_testing.stories.record import SimulationRecord
from waypost_testing.stories.sending.callers import SimulatedOrg, Workload, phone

PLENTY = 1000
FEW = (3, 8, 15, PLENTY)


class LedgerControls:
    """Written directly to the Ledger where the API is not under test, so that the moment of a change is exact."""

    def __init__(self, ledger: SharedLedger, record: SimulationRecord) -> None:
        self._ledger = ledger
        self._record = record

    def pull(self, crowd: Workload) -> None:
        for org in crowd.orgs:
            crowd.errand(self._change_quota(crowd, org))
            crowd.errand(self._renew_token(crowd, org))

    async def let_go(self, crowd: Workload) -> None:
        """Remove every block that a person could remove, so that everything can come to rest."""
        for org in crowd.orgs:
            self._limit(org, PLENTY)
            for number in range(4):
                self._grant(org, phone(number))
            await crowd.change_number(org, "release", {"token": org.token})

    # Quota

    async def _change_quota(self, crowd: Workload, org: SimulatedOrg) -> None:
        """Lower it below what was sent, and raise it again."""
        while await crowd.pause(300):
            self._limit(org, crowd.rng.choice(FEW))

    def set_limits(self, crowd: Workload) -> None:
        """Before the first message goes."""
        for org in crowd.orgs:
            self._limit(org, crowd.rng.choice(FEW))

    def _limit(self, org: SimulatedOrg, most: int) -> None:
        self._ledger.limit(org.name, most)
        self._record.limits.setdefault(org.name, []).append((self._record.now(), most))

    # Consent

    def _grant(self, org: SimulatedOrg, customer: str) -> None:
        self._ledger.grant(org.name, customer)
        self._record.consent(org.name, customer, granted=True)

    # Holds

    async def _renew_token(self, crowd: Workload, org: SimulatedOrg) -> None:
        """An operator releases a hold, some time later."""
        while await crowd.pause(240):
            await crowd.change_number(org, "release", {"token": org.token})

"""The contract of the outbox: everything that its port promises, by intent."""

from __future__ import annotations

from waypost.testing.contracts.changing import ChangeContract
from waypost.testing.contracts.claiming import ClaimContract
from waypost.testing.contracts.expiring import ExpireContract
from waypost.testing.contracts.queues import QueueContract, QueueRaceContract
from waypost.testing.contracts.settling import HandBackContract, SettleContract
from waypost.testing.contracts.submitting import SubmitContract
from waypost.testing.contracts.sweeping import SuspectContract, SweepContract


class OutboxContract(
    SubmitContract,
    ClaimContract,
    SettleContract,
    HandBackContract,
    ChangeContract,
    ExpireContract,
    SweepContract,
    SuspectContract,
    QueueContract,
    QueueRaceContract,
):
    pass

"""The contract of the outbox: everything that its port promises, by intent."""

from __future__ import annotations

from waypost_testing.contracts.sending.cancel_retry import CancelRetryContract
from waypost_testing.contracts.sending.claiming import ClaimContract
from waypost_testing.contracts.sending.expiring import ExpireContract
from waypost_testing.contracts.sending.queues import QueueContract, QueueRaceContract
from waypost_testing.contracts.sending.settling import HandBackContract, SettleContract
from waypost_testing.contracts.sending.stale_sends import SuspectContract, SweepContract
from waypost_testing.contracts.sending.submitting import SubmitContract


class OutboxContract(
    SubmitContract,
    ClaimContract,
    SettleContract,
    HandBackContract,
    CancelRetryContract,
    ExpireContract,
    SweepContract,
    SuspectContract,
    QueueContract,
    QueueRaceContract,
):
    pass

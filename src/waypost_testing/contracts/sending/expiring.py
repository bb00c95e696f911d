"""The contract of expiry: a message that waits too long ends, for whatever reason it waits."""

from __future__ import annotations

from waypost.model.message import Status
from waypost.model.time import hours, minutes
from waypost.ports.ledger import Ledger
from waypost_testing.contracts.examples import (
    ORG,
    T0,
    claim,
    claim_one,
    delivery,
    give_up,
    later,
    settle,
    status,
    submit,
    try_again,
    unsure,
)

SOON, LATER = later(minutes(1)), later(hours(1))


class ExpireContract:
    async def test_what_waits_for_too_long_is_cancelled_once(self, ledger: Ledger) -> None:
        message, other = await submit(ledger, expires_at=SOON), await submit(ledger, expires_at=LATER)
        assert await ledger.outbox.expire(10, T0) == []
        assert await ledger.outbox.expire(10, SOON) == [message.id]
        assert await ledger.outbox.expire(10, SOON) == []
        stands = await delivery(ledger, message.id)
        assert (stands.status, stands.error_code) == (Status.CANCELLED, "EXPIRED")
        assert await status(ledger, other.id) is Status.QUEUED

    async def test_what_is_sent_again_by_a_person_still_expires(self, ledger: Ledger) -> None:
        retried, replayed, lasting = [await submit(ledger, expires_at=SOON) for _ in range(3)]
        await ledger.outbox.expire(10, SOON)
        await ledger.outbox.retry(ORG, retried.id, LATER)
        assert await ledger.outbox.expire(10, LATER) == [retried.id]
        await ledger.outbox.retry(ORG, replayed.id, LATER)
        for claimed in await claim(ledger, now=LATER):
            await settle(ledger, claimed, give_up(), LATER)
        assert await ledger.outbox.expire(10, LATER) == []
        assert await ledger.outbox.replay(ORG, [replayed.id], LATER) == [replayed.id]
        assert await ledger.outbox.expire(10, LATER) == [replayed.id]
        assert await status(ledger, lasting.id) is Status.CANCELLED

    async def test_a_retry_before_its_time_expires_at_its_time(self, ledger: Ledger) -> None:
        message = await submit(ledger, expires_at=LATER)
        await ledger.outbox.cancel(ORG, message.id, T0)
        await ledger.outbox.retry(ORG, message.id, T0)
        assert await ledger.outbox.expire(10, SOON) == []
        assert await ledger.outbox.expire(10, LATER) == [message.id]

    async def test_what_is_under_way_does_not_keep_others_from_expiring(self, ledger: Ledger) -> None:
        under_way = [await submit(ledger, expires_at=SOON) for _ in range(3)]
        claimed = await claim(ledger)
        waiting = await submit(ledger, expires_at=LATER)
        assert await ledger.outbox.expire(2, LATER) == [waiting.id]
        assert [await status(ledger, message.id) for message in under_way] == [Status.SENDING] * 3
        await settle(ledger, claimed[0], try_again(LATER))
        await settle(ledger, claimed[1], unsure())
        assert await ledger.outbox.expire(2, LATER) == [claimed[0].id]

    async def test_what_never_expires_is_left_alone(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        await settle(ledger, await claim_one(ledger), give_up())
        await ledger.outbox.retry(ORG, message.id, T0)
        assert await ledger.outbox.expire(10, LATER) == []

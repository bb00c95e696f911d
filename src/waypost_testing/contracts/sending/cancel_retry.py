"""The contract of cancel and retry, which a user asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from waypost.model.ids import MessageId
from waypost.model.message import Status
from waypost.model.time import hours, minutes, seconds
from waypost.ports.ledger import Ledger
from waypost.ports.sending.outbox import Created, MessageChanged, MessageNotFound, NotAllowed
from waypost_testing.contracts.examples import (
    ORG,
    OTHER_ORG,
    PARKING,
    T0,
    UNKNOWN,
    Ledgers,
    PassTime,
    a_draft,
    a_report,
    a_wamid,
    accept,
    attempts,
    claim,
    claim_one,
    delivery,
    event_kinds,
    give_up,
    later,
    settle,
    status,
    submit,
    take,
    try_again,
    webhooks_up,
)


async def queued(ledger: Ledger) -> MessageId:
    return (await submit(ledger)).id


async def sending(ledger: Ledger) -> MessageId:
    await submit(ledger)
    return (await claim_one(ledger)).id


async def sent(ledger: Ledger) -> MessageId:
    await submit(ledger)
    return (await accept(ledger, await claim_one(ledger))).delivery.message_id


async def delivered(ledger: Ledger) -> MessageId:
    await submit(ledger)
    claimed = await claim_one(ledger)
    await take(ledger, a_report("delivered", a_wamid(), echo=claimed))
    return claimed.id


async def failed(ledger: Ledger) -> MessageId:
    await submit(ledger)
    return (await settle(ledger, await claim_one(ledger), give_up())).delivery.message_id


async def cancelled(ledger: Ledger) -> MessageId:
    message = await submit(ledger)
    await ledger.outbox.cancel(ORG, message.id, T0)
    return message.id


PrepareMessage = Callable[[Ledger], Awaitable[MessageId]]
REACH: dict[Status, PrepareMessage] = {
    Status.QUEUED: queued,
    Status.SENDING: sending,
    Status.SENT: sent,
    Status.DELIVERED: delivered,
    Status.FAILED: failed,
    Status.CANCELLED: cancelled,
}


def reaching(*statuses: Status) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("reach", [REACH[s] for s in statuses], ids=[s.value for s in statuses])


class CancelRetryContract:
    async def test_a_cancelled_message_is_never_sent(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        answer = await ledger.outbox.cancel(ORG, message.id, later(seconds(1)))
        assert isinstance(answer, MessageChanged)
        stands = answer.message.delivery
        assert (stands.status, stands.due_at, stands.updated_at) == (Status.CANCELLED, None, later(seconds(1)))
        assert answer.message == await ledger.messages.get(ORG, message.id)
        assert await event_kinds(ledger, message.id) == ["cancelled"]
        assert await claim(ledger, now=later(hours(9))) == []

    async def test_a_message_that_waits_for_its_time_may_be_cancelled(self, ledger: Ledger) -> None:
        message = await submit(ledger, scheduled_at=later(hours(1)))
        assert isinstance(await ledger.outbox.cancel(ORG, message.id, T0), MessageChanged)
        assert await claim(ledger, now=later(hours(1))) == []

    @reaching(Status.SENDING, Status.SENT, Status.DELIVERED, Status.FAILED, Status.CANCELLED)
    async def test_only_what_is_queued_may_be_cancelled(self, reach: PrepareMessage, ledger: Ledger) -> None:
        message = await reach(ledger)
        before = await ledger.messages.life(ORG, message)
        answer = await ledger.outbox.cancel(ORG, message, later(seconds(1)))
        assert before is not None
        assert answer == NotAllowed(before.message)
        assert await ledger.messages.life(ORG, message) == before

    @reaching(Status.FAILED, Status.CANCELLED)
    async def test_a_retry_opens_a_new_generation(self, reach: PrepareMessage, ledger: Ledger) -> None:
        message = await reach(ledger)
        tried = await attempts(ledger, message)
        answer = await ledger.outbox.retry(ORG, message, later(seconds(1)))
        assert isinstance(answer, MessageChanged)
        stands = answer.message.delivery
        assert (stands.status, stands.generation, stands.tries) == (Status.QUEUED, 2, 0)
        assert (stands.due_at, stands.error_code, stands.provider_id) == (later(seconds(1)), None, None)
        assert (await event_kinds(ledger, message))[-1] == "retried"
        again = await claim_one(ledger, now=later(seconds(1)))
        assert (again.id, again.generation, again.tries, again.fence) == (message, 2, 1, len(tried) + 1)
        newest = (await attempts(ledger, message))[-1]
        assert (newest.generation, newest.attempt_no) == (2, 1)

    async def test_a_parked_message_may_be_retried(self, ledger: Ledger, pass_time: PassTime) -> None:
        message = await sending(ledger)
        await webhooks_up(ledger, pass_time, minutes(11))
        await ledger.outbox.sweep(PARKING, 100, T0)
        assert isinstance(await ledger.outbox.retry(ORG, message, T0), MessageChanged)
        stands = await delivery(ledger, message)
        assert (stands.status, stands.parked, stands.generation) == (Status.QUEUED, False, 2)
        assert (await claim_one(ledger)).id == message

    @reaching(Status.QUEUED, Status.SENDING, Status.SENT, Status.DELIVERED)
    async def test_what_is_not_over_or_did_arrive_is_not_retried(self, reach: PrepareMessage, ledger: Ledger) -> None:
        message = await reach(ledger)
        before = await ledger.messages.life(ORG, message)
        answer = await ledger.outbox.retry(ORG, message, later(seconds(1)))
        assert before is not None
        assert answer == NotAllowed(before.message)
        assert await ledger.messages.life(ORG, message) == before

    async def test_a_message_of_another_org_is_missing(self, ledger: Ledger) -> None:
        theirs = await ledger.outbox.submit(a_draft(org_id=OTHER_ORG), T0)
        assert isinstance(theirs, Created)
        assert await ledger.outbox.cancel(ORG, theirs.message.id, T0) == MessageNotFound()
        assert await status(ledger, theirs.message.id) is Status.QUEUED
        await ledger.outbox.cancel(OTHER_ORG, theirs.message.id, T0)
        assert await ledger.outbox.retry(ORG, theirs.message.id, T0) == MessageNotFound()
        assert await status(ledger, theirs.message.id) is Status.CANCELLED

    async def test_a_message_nobody_knows_is_missing(self, ledger: Ledger) -> None:
        assert await ledger.outbox.cancel(ORG, UNKNOWN, T0) == MessageNotFound()
        assert await ledger.outbox.retry(ORG, UNKNOWN, T0) == MessageNotFound()

    async def test_of_many_cancels_one_is_done(self, ledgers: Ledgers) -> None:
        message = await submit(ledgers[0])
        answers = await asyncio.gather(*(ledgers[n % 2].outbox.cancel(ORG, message.id, T0) for n in range(10)))
        assert sorted(type(a).__name__ for a in answers) == ["MessageChanged", *["NotAllowed"] * 9]
        assert await event_kinds(ledgers[0], message.id) == ["cancelled"]

    async def test_a_cancel_that_races_a_claim_has_one_winner(self, ledgers: Ledgers) -> None:
        for _ in range(20):
            message = await submit(ledgers[0])
            claimed, answer = await asyncio.gather(
                claim(ledgers[0]),
                ledgers[1].outbox.cancel(ORG, message.id, T0),
            )
            expected = NotAllowed if claimed else MessageChanged
            assert isinstance(answer, expected)
            stands = await status(ledgers[0], message.id)
            assert stands is (Status.SENDING if claimed else Status.CANCELLED)

    async def test_changes_that_share_a_commit_leave_the_message_in_one_place(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        claimed = await claim_one(ledger)
        await asyncio.gather(
            submit(ledger, scheduled_at=later(hours(99))),  # the three below wait together for its commit
            settle(ledger, claimed, try_again(later(minutes(1)))),
            ledger.outbox.cancel(ORG, message.id, T0),
            ledger.outbox.retry(ORG, message.id, T0),
        )
        assert await ledger.lookup.next_due() == later(hours(99))
        again = await claim_one(ledger)
        assert (again.id, again.generation) == (message.id, 2)

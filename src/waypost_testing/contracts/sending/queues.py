"""The contract of order: only the head of a queue is claimable, and no promotion is ever lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from waypost.model.ids import MessageId, Wamid, WorkerId
from waypost.model.message import ClaimedMessage, Status
from waypost.model.time import hours, minutes
from waypost.ports.ledger import Ledger
from waypost.ports.sending.outbox import MessageChanged
from waypost.rules.sending.delivery import Accept, DeliveryVerdict, Expire
from waypost_testing.contracts.examples import (
    CUSTOMER,
    ORG,
    OTHER_CUSTOMER,
    OTHER_NUMBER,
    OTHER_ORG,
    PARKING,
    T0,
    W1,
    W2,
    Ledgers,
    PassTime,
    a_customer,
    a_report,
    a_wamid,
    accept,
    claim,
    claim_one,
    drain,
    give_up,
    later,
    requeue_stale,
    settle,
    status,
    submit,
    take,
    try_again,
    unsure,
    webhooks_up,
)

ROUNDS = 40


async def in_line(ledger: Ledger, count: int, **draft: Any) -> list[MessageId]:
    return [(await submit(ledger, ordered=True, **draft)).id for _ in range(count)]


async def ids(claimed: Awaitable[list[ClaimedMessage]]) -> list[MessageId]:
    return [each.id for each in await claimed]


class QueueContract:
    async def test_only_the_head_is_claimable(self, ledger: Ledger) -> None:
        first, *_ = await in_line(ledger, 3)
        assert await ids(claim(ledger)) == [first]
        assert await claim(ledger) == []

    async def test_messages_go_one_after_the_other_in_the_order_of_submission(self, ledger: Ledger) -> None:
        messages = await in_line(ledger, 5)
        assert await drain(ledger) == messages

    async def test_messages_submitted_together_go_in_order(self, ledger: Ledger) -> None:
        messages = await asyncio.gather(*(submit(ledger, ordered=True) for _ in range(10)))
        assert await drain(ledger) == [message.id for message in messages]

    async def test_priority_does_not_overtake_in_a_queue(self, ledger: Ledger) -> None:
        (low,) = await in_line(ledger, 1, priority=0)
        (high,) = await in_line(ledger, 1, priority=9)
        assert await drain(ledger) == [low, high]

    @pytest.mark.parametrize(
        "other",
        [{"recipient": OTHER_CUSTOMER}, {"sender": OTHER_NUMBER}, {"org_id": OTHER_ORG}, {"ordered": False}],
        ids=lambda other: next(iter(other)),
    )
    async def test_what_is_not_of_the_queue_does_not_wait(self, other: dict[str, Any], ledger: Ledger) -> None:
        head, _ = await in_line(ledger, 2)
        beside = await submit(ledger, **({"ordered": True} | other))
        assert await ids(claim(ledger)) == [head, beside.id]

    @pytest.mark.parametrize(
        "verdict",
        [Accept(Wamid("wamid.A"), "{}"), give_up(), Expire()],
        ids=["accepted", "failed", "expired"],
    )
    async def test_a_settled_head_promotes_the_next(self, verdict: DeliveryVerdict, ledger: Ledger) -> None:
        _, second, third = await in_line(ledger, 3)
        assert (await settle(ledger, await claim_one(ledger), verdict)).promoted
        assert await ids(claim(ledger)) == [second]
        assert await status(ledger, third) is Status.QUEUED

    async def test_a_head_that_is_to_be_tried_again_keeps_its_place(self, ledger: Ledger) -> None:
        first, second = await in_line(ledger, 2)
        settled = await settle(ledger, await claim_one(ledger), try_again(later(minutes(1))))
        assert not settled.promoted
        assert await claim(ledger) == []
        assert await drain(ledger, now=later(minutes(1))) == [first, second]

    async def test_an_unsure_head_keeps_the_others_waiting(self, ledger: Ledger, pass_time: PassTime) -> None:
        first, second = await in_line(ledger, 2)
        assert not (await settle(ledger, await claim_one(ledger), unsure())).promoted
        assert await claim(ledger) == []
        assert await requeue_stale(ledger, pass_time) == [first]
        assert await drain(ledger) == [first, second]

    async def test_a_parked_head_promotes_the_next(self, ledger: Ledger, pass_time: PassTime) -> None:
        _, second = await in_line(ledger, 2)
        await claim_one(ledger)
        await webhooks_up(ledger, pass_time, minutes(11))
        await ledger.outbox.sweep(PARKING, 100, T0)
        assert await ids(claim(ledger)) == [second]

    async def test_a_cancelled_head_promotes_the_next(self, ledger: Ledger) -> None:
        first, second = await in_line(ledger, 2)
        answer = await ledger.outbox.cancel(ORG, first, T0)
        assert isinstance(answer, MessageChanged)
        assert answer.promoted
        assert await drain(ledger) == [second]

    async def test_a_cancelled_message_leaves_the_line(self, ledger: Ledger) -> None:
        first, second, third = await in_line(ledger, 3)
        answer = await ledger.outbox.cancel(ORG, second, T0)
        assert isinstance(answer, MessageChanged)
        assert not answer.promoted
        assert await drain(ledger) == [first, third]

    async def test_a_status_that_proves_acceptance_promotes_the_next(self, ledger: Ledger) -> None:
        _, second = await in_line(ledger, 2)
        taken = await take(ledger, a_report("sent", a_wamid(), echo=await claim_one(ledger)))
        assert taken.promoted
        assert await ids(claim(ledger)) == [second]

    async def test_a_later_status_of_a_message_that_is_out_of_the_way_promotes_nobody(self, ledger: Ledger) -> None:
        _, second, third = await in_line(ledger, 3)
        head, wamid = await claim_one(ledger), a_wamid()
        await accept(ledger, head, wamid)
        assert await ids(claim(ledger)) == [second]
        assert not (await take(ledger, a_report("delivered", wamid, echo=head))).promoted
        assert await claim(ledger) == []
        assert await status(ledger, third) is Status.QUEUED

    async def test_a_head_handed_back_stays_the_head(self, ledger: Ledger) -> None:
        messages = await in_line(ledger, 2)
        await claim_one(ledger, owner=W1)
        assert await ledger.outbox.hand_back(W1, [], T0) == messages[:1]
        assert await drain(ledger) == messages

    async def test_a_retried_message_joins_the_end(self, ledger: Ledger) -> None:
        first, second, third = await in_line(ledger, 3)
        await settle(ledger, await claim_one(ledger), give_up())
        await ledger.outbox.retry(ORG, first, T0)
        assert await drain(ledger) == [second, third, first]

    async def test_a_scheduled_head_keeps_the_others_waiting(self, ledger: Ledger) -> None:
        (first,) = await in_line(ledger, 1, scheduled_at=later(hours(1)))
        (second,) = await in_line(ledger, 1)
        assert await claim(ledger) == []
        assert await drain(ledger, now=later(hours(1))) == [first, second]

    async def test_a_promoted_message_still_waits_for_its_own_time(self, ledger: Ledger) -> None:
        (first,) = await in_line(ledger, 1)
        (second,) = await in_line(ledger, 1, scheduled_at=later(hours(1)))
        assert await drain(ledger) == [first]
        assert await ledger.lookup.next_due() == later(hours(1))
        assert await drain(ledger, now=later(hours(1))) == [second]

    async def test_what_was_due_in_line_is_due_when_promoted_also_by_a_slower_clock(self, ledger: Ledger) -> None:
        """Found by simulation: it waited until the slower clock had reached the moment of its submission."""
        first, second = await in_line(ledger, 2, now=later(hours(1)))
        assert await drain(ledger) == [first, second]

    async def test_a_queue_that_ran_empty_starts_again(self, ledger: Ledger) -> None:
        assert await drain(ledger) == []
        for _ in range(3):
            (message,) = await in_line(ledger, 1)
            assert await drain(ledger) == [message]


class QueueRaceContract:
    """Submit, settle, cancel and claim from two processes at once: many rounds, no promotion lost, no order broken."""

    async def test_a_submit_that_races_the_settle_of_the_head_is_never_forgotten(self, ledgers: Ledgers) -> None:
        for _ in range(ROUNDS):
            to = a_customer()
            await submit(ledgers[0], ordered=True, recipient=to)
            head = await claim_one(ledgers[0])
            _, second, third = await asyncio.gather(
                accept(ledgers[0], head),
                submit(ledgers[1], ordered=True, recipient=to),
                submit(ledgers[0], ordered=True, recipient=to),
            )
            assert sorted(await drain(ledgers[1])) == sorted([second.id, third.id])

    async def test_a_cancel_that_races_the_settle_of_the_head_is_never_in_the_way(self, ledgers: Ledgers) -> None:
        for _ in range(ROUNDS):
            _, second, third = await in_line(ledgers[0], 3, recipient=a_customer())
            head = await claim_one(ledgers[0])
            _, answer = await asyncio.gather(
                accept(ledgers[0], head),
                ledgers[1].outbox.cancel(ORG, second, T0),
            )
            assert isinstance(answer, MessageChanged)
            assert await drain(ledgers[1]) == [third]

    async def test_a_submit_that_races_the_cancel_of_the_head_is_never_forgotten(self, ledgers: Ledgers) -> None:
        for _ in range(ROUNDS):
            to = a_customer()
            (first,) = await in_line(ledgers[0], 1, recipient=to)
            _, second = await asyncio.gather(
                ledgers[0].outbox.cancel(ORG, first, T0),
                submit(ledgers[1], ordered=True, recipient=to),
            )
            assert await drain(ledgers[0]) == [second.id]

    async def test_two_workers_send_one_queue_in_order_while_it_grows(self, ledgers: Ledgers) -> None:
        sent: list[MessageId] = []

        async def work(ledger: Ledger, owner: WorkerId) -> None:
            while len(sent) < 30:
                for claimed in await claim(ledger, owner=owner):
                    sent.append(claimed.id)
                    await accept(ledger, claimed)

        async def fill() -> list[MessageId]:
            return [(await submit(ledgers[n % 2], ordered=True, recipient=CUSTOMER)).id for n in range(30)]

        async with asyncio.timeout(30):
            submitted, *_ = await asyncio.gather(
                fill(),
                work(ledgers[0], W1),
                work(ledgers[1], W2),
            )
        assert sent == submitted

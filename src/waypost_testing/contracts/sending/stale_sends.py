"""The contract of the sweep: an unsettled attempt is given up once, by webhook uptime, never blindly."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from waypost.model.ids import NumberId
from waypost.model.message import AttemptStatus, Status
from waypost.model.time import Instant, hours, minutes, seconds
from waypost.ports.ledger import Ledger
from waypost.ports.sending.outbox import StaleLimits, SweptAttempts
from waypost.rules.sending.delivery import Unsettled
from waypost_testing.contracts.examples import (
    CUSTOMER,
    NUMBER,
    ORG,
    OTHER_CUSTOMER,
    OTHER_NUMBER,
    OTHER_ORG,
    PARKING,
    PATIENCE,
    T0,
    W2,
    Ledgers,
    PassTime,
    a_report,
    a_tick,
    a_wamid,
    accept,
    attempts,
    claim,
    claim_one,
    delivery,
    event_kinds,
    later,
    requeue_stale,
    settle,
    status,
    submit,
    take,
    unsure,
    webhooks_up,
)

NOTHING = SweptAttempts([], [])


class SweepContract:
    async def test_a_stale_try_is_queued_again_and_due_now(self, ledger: Ledger, pass_time: PassTime) -> None:
        message = await submit(ledger)
        await settle(ledger, await claim_one(ledger), unsure())
        await webhooks_up(ledger, pass_time, minutes(11))
        now = later(minutes(11))
        assert await ledger.outbox.sweep(PATIENCE, 100, now) == SweptAttempts([message.id], [])
        stands = await delivery(ledger, message.id)
        assert (stands.status, stands.due_at, stands.tries, stands.owner) == (Status.QUEUED, now, 1, None)
        assert await event_kinds(ledger, message.id) == ["unsure", "requeued"]
        again = await claim_one(ledger, owner=W2, now=now)
        assert (again.id, again.fence, again.tries) == (message.id, 2, 2)

    async def test_a_try_whose_worker_died_goes_stale_too(self, ledger: Ledger, pass_time: PassTime) -> None:
        message = await submit(ledger)
        await claim_one(ledger)
        assert await requeue_stale(ledger, pass_time) == [message.id]

    async def test_a_try_whose_worker_died_stays_on_record(self, ledger: Ledger, pass_time: PassTime) -> None:
        message = await submit(ledger)
        await settle(ledger, await claim_one(ledger), unsure(), later(seconds(1)))
        await requeue_stale(ledger, pass_time)
        await claim_one(ledger, now=later(minutes(11)))  # and no status of it ever comes
        await requeue_stale(ledger, pass_time, now=later(minutes(22)))
        tried = await attempts(ledger, message.id)
        assert [(a.attempt_no, a.status) for a in tried] == [(1, AttemptStatus.UNSURE), (2, AttemptStatus.UNSURE)]
        assert [a.created_at for a in tried] == [T0, later(minutes(11))]

    async def test_a_try_is_left_alone_until_limit_and_slack_have_passed(
        self, ledger: Ledger, pass_time: PassTime
    ) -> None:
        message = await submit(ledger)
        await claim_one(ledger)
        patience = StaleLimits(limit=hours(10), slack=hours(2), policy=PATIENCE.policy)
        await webhooks_up(ledger, pass_time, hours(11))
        assert await ledger.outbox.sweep(patience, 100, T0) == NOTHING
        assert await status(ledger, message.id) is Status.SENDING
        await webhooks_up(ledger, pass_time, hours(1))
        assert await ledger.outbox.sweep(patience, 100, T0) == SweptAttempts([message.id], [])

    async def test_time_with_the_door_closed_does_not_count(self, ledger: Ledger, pass_time: PassTime) -> None:
        message = await submit(ledger)
        await ledger.webhook_uptime.tick(a_tick())
        await claim_one(ledger)
        await pass_time(hours(20))
        await ledger.webhook_uptime.tick(a_tick(gap=seconds(15)))
        assert await ledger.outbox.sweep(PATIENCE, 100, later(hours(20))) == NOTHING
        assert await status(ledger, message.id) is Status.SENDING

    async def test_a_refused_webhook_starts_the_limit_anew(self, ledger: Ledger, pass_time: PassTime) -> None:
        message = await submit(ledger)
        await claim_one(ledger)
        await webhooks_up(ledger, pass_time, minutes(9))
        await ledger.webhook_uptime.tick(a_tick(refused=True))
        await webhooks_up(ledger, pass_time, minutes(9))
        assert await ledger.outbox.sweep(PATIENCE, 100, T0) == NOTHING
        await webhooks_up(ledger, pass_time, minutes(2))
        assert await ledger.outbox.sweep(PATIENCE, 100, T0) == SweptAttempts([message.id], [])

    @pytest.mark.parametrize("comes_back", [True, False])
    async def test_a_silent_listener_may_have_refused_webhooks(
        self, ledger: Ledger, pass_time: PassTime, *, comes_back: bool
    ) -> None:
        """It is heard of again, or forgotten: the limit starts anew either way."""
        uptime, gap, forget = ledger.webhook_uptime, minutes(30), hours(2)
        for listener in ("one", "two"):
            await uptime.tick(a_tick(listener, gap, forget))
        message = await submit(ledger)
        await claim_one(ledger)
        await pass_time(minutes(9))
        await uptime.tick(a_tick("one", gap, forget))
        await pass_time(hours(1 if comes_back else 3))
        await uptime.tick(a_tick("two" if comes_back else "one", gap, forget))
        await pass_time(minutes(8))
        await uptime.tick(a_tick("one", gap, forget))
        assert await ledger.outbox.sweep(PATIENCE, 100, T0) == NOTHING
        for listener in ("one", "two"):
            await uptime.tick(a_tick(listener, gap, forget))
        await pass_time(minutes(11))
        await uptime.tick(a_tick("one", gap, forget))
        assert await ledger.outbox.sweep(PATIENCE, 100, T0) == SweptAttempts([message.id], [])

    @pytest.mark.parametrize("soon", [True, False])
    async def test_a_process_that_is_soon_replaced_was_not_silent(
        self, ledger: Ledger, pass_time: PassTime, *, soon: bool
    ) -> None:
        """Otherwise one that is killed again and again would keep every attempt from going stale."""
        uptime, gap = ledger.webhook_uptime, minutes(30)
        message = await submit(ledger)
        await claim_one(ledger)
        await uptime.tick(a_tick("one", gap))
        await uptime.tick(a_tick("old", gap, place="here", first=True))
        await pass_time(minutes(20))
        await uptime.tick(a_tick("one", gap))
        await pass_time(minutes(1 if soon else 20))
        await uptime.tick(a_tick("new", gap, place="here", first=True))
        swept = await ledger.outbox.sweep(PATIENCE, 100, T0)
        assert swept == (SweptAttempts([message.id], []) if soon else NOTHING)

    async def test_the_worker_s_clock_does_not_count(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        await claim_one(ledger)
        assert await ledger.outbox.sweep(PATIENCE, 100, later(hours(999))) == NOTHING
        assert await status(ledger, message.id) is Status.SENDING

    async def test_time_before_the_claim_does_not_count(self, ledger: Ledger, pass_time: PassTime) -> None:
        await webhooks_up(ledger, pass_time, hours(1))
        await submit(ledger)
        await claim_one(ledger)
        assert await ledger.outbox.sweep(PATIENCE, 100, T0) == NOTHING

    async def test_parking_leaves_it_to_a_person(self, ledger: Ledger, pass_time: PassTime) -> None:
        message = await submit(ledger)
        await claim_one(ledger)
        await webhooks_up(ledger, pass_time, minutes(11))
        assert await ledger.outbox.sweep(PARKING, 100, T0) == SweptAttempts([], [message.id])
        stands = await delivery(ledger, message.id)
        assert (stands.status, stands.parked, stands.owner) == (Status.SENDING, True, None)
        assert stands.error_code == "UNSURE"
        assert await event_kinds(ledger, message.id) == ["parked"]
        assert await claim(ledger, now=later(hours(9))) == []
        await webhooks_up(ledger, pass_time, minutes(11))
        assert await ledger.outbox.sweep(PATIENCE, 100, T0) == NOTHING

    async def test_the_last_try_is_parked_whatever_the_policy(self, ledger: Ledger, pass_time: PassTime) -> None:
        message = await submit(ledger, max_attempts=1)
        await claim_one(ledger)
        assert await requeue_stale(ledger, pass_time) == [message.id]
        await claim_one(ledger)
        await webhooks_up(ledger, pass_time, minutes(11))
        assert await ledger.outbox.sweep(PATIENCE, 100, T0) == SweptAttempts([], [message.id])

    async def test_a_parked_message_is_settled_by_evidence(self, ledger: Ledger, pass_time: PassTime) -> None:
        message = await submit(ledger)
        claimed = await claim_one(ledger)
        await webhooks_up(ledger, pass_time, minutes(11))
        await ledger.outbox.sweep(PARKING, 100, T0)
        await take(ledger, a_report("delivered", a_wamid(), echo=claimed))
        stands = await delivery(ledger, message.id)
        assert (stands.status, stands.parked, stands.error_code) == (Status.DELIVERED, False, None)

    async def test_each_org_may_choose_what_becomes_of_its_own(self, ledger: Ledger, pass_time: PassTime) -> None:
        ours = await submit(ledger)
        theirs = await submit(ledger, org_id=OTHER_ORG, sender=OTHER_NUMBER)
        assert len(await claim(ledger)) == 2
        await webhooks_up(ledger, pass_time, minutes(11))
        chosen = replace(PATIENCE, of_orgs={ORG: Unsettled.PARK})
        assert await ledger.outbox.sweep(chosen, 100, T0) == SweptAttempts([theirs.id], [ours.id])

    async def test_what_is_settled_is_not_swept(self, ledger: Ledger, pass_time: PassTime) -> None:
        message = await submit(ledger)
        await accept(ledger, await claim_one(ledger))
        assert await requeue_stale(ledger, pass_time) == []
        assert await status(ledger, message.id) is Status.SENT

    async def test_no_more_than_the_limit_is_swept_and_the_oldest_first(
        self, ledger: Ledger, pass_time: PassTime
    ) -> None:
        old = await submit(ledger)
        await claim_one(ledger)
        await webhooks_up(ledger, pass_time, minutes(1))
        young = await submit(ledger)
        await claim_one(ledger)
        await webhooks_up(ledger, pass_time, minutes(11))
        assert await ledger.outbox.sweep(PATIENCE, 1, T0) == SweptAttempts([old.id], [])
        assert await ledger.outbox.sweep(PATIENCE, 1, T0) == SweptAttempts([young.id], [])

    async def test_two_sweeps_at_once_give_up_each_try_once(self, ledgers: Ledgers, pass_time: PassTime) -> None:
        ids = [(await submit(ledgers[0])).id for _ in range(20)]
        assert len(await claim(ledgers[0])) == 20
        await webhooks_up(ledgers[0], pass_time, minutes(11))
        swept = await asyncio.gather(*(ledgers[n % 2].outbox.sweep(PATIENCE, 100, T0) for n in range(4)))
        assert sorted(m for s in swept for m in s.requeued) == ids
        assert [m for s in swept for m in s.parked] == []


class SuspectContract:
    """A status that matches no message may be the missing answer: such an attempt is never sent again automatically."""

    @pytest.mark.parametrize("received", [later(seconds(1)), later(hours(-1))], ids=["in time", "by a slower clock"])
    async def test_an_unmatched_status_since_the_try_keeps_it_from_the_queue(
        self, received: Instant, ledger: Ledger, pass_time: PassTime
    ) -> None:
        message = await submit(ledger, recipient=CUSTOMER)
        await claim_one(ledger, now=T0)
        await take(ledger, a_report("sent", a_wamid(), recipient=CUSTOMER), now=received)
        await webhooks_up(ledger, pass_time, minutes(11))
        assert (await ledger.outbox.sweep(PATIENCE, 100, later(minutes(11)))).requeued == []
        assert await status(ledger, message.id) is Status.SENDING
        assert await claim(ledger, now=later(hours(1))) == []

    @pytest.mark.parametrize(
        ("number", "recipient", "received"),
        [
            (NUMBER, OTHER_CUSTOMER, later(seconds(1))),
            (OTHER_NUMBER, CUSTOMER, later(seconds(1))),
            (NUMBER, CUSTOMER, later(seconds(-5))),
        ],
        ids=["another recipient", "another number", "before the try"],
    )
    async def test_a_status_that_cannot_be_its_answer_does_not(
        self, number: NumberId, recipient: str, received: Instant, ledger: Ledger, pass_time: PassTime
    ) -> None:
        message = await submit(ledger, recipient=CUSTOMER, now=later(seconds(-5)))
        update = replace(a_report("sent", a_wamid()), number=number, recipient=recipient)
        await take(ledger, update, now=received)
        await webhooks_up(ledger, pass_time, seconds(5))
        await claim_one(ledger, now=T0)
        await webhooks_up(ledger, pass_time, minutes(11))
        assert await ledger.outbox.sweep(PATIENCE, 100, later(minutes(11))) == SweptAttempts([message.id], [])

    async def test_a_status_that_was_matched_does_not(self, ledger: Ledger, pass_time: PassTime) -> None:
        stale = await submit(ledger, recipient=CUSTOMER)
        await claim_one(ledger)
        await submit(ledger, recipient=CUSTOMER)
        other, wamid = await claim_one(ledger), a_wamid()
        await take(ledger, a_report("sent", wamid, recipient=CUSTOMER), now=later(seconds(1)))
        await accept(ledger, other, wamid)
        await webhooks_up(ledger, pass_time, minutes(11))
        assert await ledger.outbox.sweep(PATIENCE, 100, later(minutes(11))) == SweptAttempts([stale.id], [])

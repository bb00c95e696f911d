"""The contract of settle and hand_back: a verdict counts for its own fence, evidence always."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from waypost.model.ids import Wamid
from waypost.model.message import AttemptStatus, Status
from waypost.model.time import minutes, seconds
from waypost.ports.ledger import Ledger
from waypost.ports.platform.failure import Rejected
from waypost.ports.sending.outbox import MessageChanged
from waypost.rules.sending.delivery import DeliveryVerdict, Expire
from waypost_testing.contracts.examples import (
    ORG,
    T0,
    UNKNOWN,
    W1,
    W2,
    PassTime,
    accept,
    attempts,
    claim,
    claim_one,
    delivery,
    event_kinds,
    give_up,
    later,
    requeue_stale,
    settle,
    status,
    submit,
    try_again,
    unsure,
)

NO_EVIDENCE: list[DeliveryVerdict] = [try_again(later(minutes(1))), give_up(), unsure(), Expire()]
any_but_acceptance = pytest.mark.parametrize("verdict", NO_EVIDENCE, ids=lambda verdict: type(verdict).__name__)


class SettleContract:
    async def test_acceptance_makes_it_sent(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        claimed = await claim_one(ledger)
        settled = await accept(ledger, claimed, Wamid("wamid.A"), later(seconds(3)))
        assert (settled.held, settled.promoted, settled.early) == (True, False, 0)
        assert settled.before.status is Status.SENDING
        stands = await delivery(ledger, message.id)
        assert settled.delivery == stands
        assert (stands.status, stands.provider_id, stands.sent_at) == (Status.SENT, "wamid.A", later(seconds(3)))
        assert (stands.owner, stands.error_code, stands.due_at) == (None, None, None)

    async def test_acceptance_ends_the_attempt_with_the_response(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        await accept(ledger, await claim_one(ledger), now=later(seconds(3)))
        (attempt,) = await attempts(ledger, message.id)
        assert (attempt.status, attempt.response) == (AttemptStatus.SUCCESS, '{"messages":[]}')
        assert (attempt.finished_at, attempt.next_retry_at) == (later(seconds(3)), None)

    async def test_a_failed_try_is_queued_for_its_next_one(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        due = later(minutes(1))
        settled = await settle(ledger, await claim_one(ledger), try_again(due, code="131000"), later(seconds(2)))
        stands = settled.delivery
        assert (settled.held, stands.status, stands.due_at, stands.tries) == (True, Status.QUEUED, due, 1)
        assert (stands.error_code, stands.error_message) == ("131000", "something went wrong")
        assert await delivery(ledger, message.id) == stands
        assert await claim(ledger, now=later(seconds(59))) == []
        assert [c.id for c in await claim(ledger, now=due)] == [message.id]

    async def test_a_failed_try_says_when_the_next_one_is_due(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        await settle(ledger, await claim_one(ledger), try_again(later(minutes(1))), later(seconds(2)))
        (attempt,) = await attempts(ledger, message.id)
        assert (attempt.status, attempt.next_retry_at) == (AttemptStatus.FAILED, later(minutes(1)))
        assert (attempt.error_code, attempt.error_message) == ("131000", "something went wrong")
        assert (attempt.response, attempt.finished_at) == ('{"error":{}}', later(seconds(2)))

    async def test_a_try_that_does_not_count_is_given_back(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        settled = await settle(ledger, await claim_one(ledger), try_again(later(minutes(1)), counts=False))
        assert settled.delivery.tries == 0
        again = await claim_one(ledger, now=later(minutes(1)))
        assert (again.id, again.tries, again.fence) == (message.id, 1, 2)

    async def test_giving_up_makes_it_failed_for_good(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        settled = await settle(ledger, await claim_one(ledger), give_up("131026"))
        stands = settled.delivery
        assert (stands.status, stands.error_code, stands.due_at) == (Status.FAILED, "131026", None)
        (attempt,) = await attempts(ledger, message.id)
        assert (attempt.status, attempt.error_code, attempt.next_retry_at) == (AttemptStatus.FAILED, "131026", None)
        assert await claim(ledger, now=later(minutes(999))) == []

    async def test_unsure_stays_sending_and_is_not_tried_again(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        settled = await settle(ledger, await claim_one(ledger), unsure())
        assert (settled.held, settled.delivery.status) == (True, Status.SENDING)
        assert settled.delivery.error_code == "UNSURE"
        (attempt,) = await attempts(ledger, message.id)
        assert (attempt.status, attempt.error_message) == (AttemptStatus.UNSURE, "no answer within 10 s")
        assert await claim(ledger, now=later(minutes(999))) == []

    async def test_what_expired_is_cancelled(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        settled = await settle(ledger, await claim_one(ledger), Expire())
        assert (settled.delivery.status, settled.delivery.error_code) == (Status.CANCELLED, "EXPIRED")
        assert await status(ledger, message.id) is Status.CANCELLED

    async def test_an_unsure_try_may_still_be_accepted(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed = await claim_one(ledger)
        await settle(ledger, claimed, unsure())
        settled = await accept(ledger, claimed)
        assert (settled.held, settled.delivery.status) == (True, Status.SENT)
        assert settled.delivery.error_code is None

    async def test_acceptance_told_twice_changes_nothing_more(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        claimed = await claim_one(ledger)
        first = await accept(ledger, claimed, Wamid("wamid.A"), later(seconds(1)))
        again = await accept(ledger, claimed, Wamid("wamid.A"), later(seconds(9)))
        assert (again.held, again.before, again.delivery) == (False, first.delivery, first.delivery)
        assert await delivery(ledger, message.id) == first.delivery

    async def test_of_acceptances_told_together_one_is_held(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed = await claim_one(ledger)
        answers = await asyncio.gather(
            *(accept(ledger, claimed, Wamid("wamid.A"), later(seconds(n))) for n in range(4))
        )
        assert [answer.held for answer in answers] == [True, False, False, False]
        assert {answer.delivery.sent_at for answer in answers} == {T0}

    async def test_of_a_late_and_a_present_acceptance_told_together_both_are_kept(
        self, ledger: Ledger, pass_time: PassTime
    ) -> None:
        message = await submit(ledger)
        late = await claim_one(ledger, owner=W1)
        await requeue_stale(ledger, pass_time)
        present = await claim_one(ledger, owner=W2)
        answers = await asyncio.gather(*(accept(ledger, claimed) for claimed in (late, present)))
        assert not answers[0].held
        assert await status(ledger, message.id) is Status.SENT
        assert [a.status for a in await attempts(ledger, message.id)] == [AttemptStatus.SUCCESS] * 2

    @any_but_acceptance
    async def test_a_late_verdict_changes_nothing(
        self, verdict: DeliveryVerdict, ledger: Ledger, pass_time: PassTime
    ) -> None:
        message = await submit(ledger)
        late = await claim_one(ledger, owner=W1)
        assert await requeue_stale(ledger, pass_time) == [message.id]
        await claim_one(ledger, owner=W2)
        before, tried = await delivery(ledger, message.id), await attempts(ledger, message.id)
        settled = await settle(ledger, late, verdict, later(seconds(5)))
        assert (settled.held, settled.before, settled.delivery) == (False, before, before)
        assert (await delivery(ledger, message.id), await attempts(ledger, message.id)) == (before, tried)

    @any_but_acceptance
    async def test_a_verdict_on_a_try_that_was_settled_changes_nothing(
        self, verdict: DeliveryVerdict, ledger: Ledger
    ) -> None:
        message = await submit(ledger)
        claimed = await claim_one(ledger)
        sent = (await accept(ledger, claimed)).delivery
        settled = await settle(ledger, claimed, verdict, later(seconds(5)))
        assert (settled.held, settled.delivery) == (False, sent)
        assert await delivery(ledger, message.id) == sent

    async def test_late_acceptance_withdraws_a_queued_retry(self, ledger: Ledger, pass_time: PassTime) -> None:
        message = await submit(ledger)
        late = await claim_one(ledger)
        await requeue_stale(ledger, pass_time)
        settled = await accept(ledger, late, Wamid("wamid.A"))
        assert (settled.held, settled.before.status) == (False, Status.QUEUED)
        assert (settled.delivery.status, settled.delivery.provider_id) == (Status.SENT, "wamid.A")
        assert await claim(ledger, now=later(minutes(999))) == []
        assert [a.status for a in await attempts(ledger, message.id)] == [AttemptStatus.SUCCESS]
        assert "withdrawn" in await event_kinds(ledger, message.id)

    async def test_late_acceptance_withdraws_a_retry_that_waits_for_its_time(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        claimed = await claim_one(ledger)
        await settle(ledger, claimed, try_again(later(minutes(1))))
        assert (await accept(ledger, claimed)).delivery.status is Status.SENT
        assert await ledger.lookup.next_due() is None
        assert await claim(ledger, now=later(minutes(1))) == []
        assert await status(ledger, message.id) is Status.SENT

    async def test_late_acceptance_counts_while_another_try_is_under_way(
        self, ledger: Ledger, pass_time: PassTime
    ) -> None:
        message = await submit(ledger)
        late = await claim_one(ledger, owner=W1)
        await requeue_stale(ledger, pass_time)
        under_way = await claim_one(ledger, owner=W2)
        sent = (await accept(ledger, late, Wamid("wamid.A"))).delivery
        assert (sent.status, sent.provider_id) == (Status.SENT, "wamid.A")
        second = await accept(ledger, under_way, Wamid("wamid.B"))
        assert (second.held, second.delivery) == (False, sent)
        assert [a.status for a in await attempts(ledger, message.id)] == [AttemptStatus.SUCCESS] * 2

    async def test_late_acceptance_leaves_a_newer_generation_alone(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        old = await claim_one(ledger)
        await settle(ledger, old, give_up())
        assert isinstance(await ledger.outbox.retry(ORG, message.id, T0), MessageChanged)
        before = await delivery(ledger, message.id)
        settled = await accept(ledger, old, Wamid("wamid.A"))
        assert (settled.held, settled.delivery) == (False, before)
        assert await delivery(ledger, message.id) == before
        assert [a.status for a in await attempts(ledger, message.id)] == [AttemptStatus.SUCCESS]
        again = await claim_one(ledger)
        assert (again.id, again.generation, again.tries, again.fence) == (message.id, 2, 1, 2)

    async def test_evidence_does_not_revive_what_has_failed(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        claimed = await claim_one(ledger)
        await settle(ledger, claimed, give_up())
        settled = await accept(ledger, claimed, Wamid("wamid.A"))
        assert (settled.delivery.status, settled.delivery.provider_id) == (Status.FAILED, "wamid.A")
        assert await status(ledger, message.id) is Status.FAILED

    async def test_a_settle_of_a_message_that_does_not_exist_is_rejected(self, ledger: Ledger) -> None:
        await submit(ledger)
        claimed = await claim_one(ledger)
        with pytest.raises(Rejected):
            await accept(ledger, replace(claimed, id=UNKNOWN))


class HandBackContract:
    async def test_a_claim_its_owner_never_heard_of_is_handed_back_uncounted(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        await claim_one(ledger, owner=W1)
        assert await ledger.outbox.hand_back(W1, [], later(seconds(1))) == [message.id]
        stands = await delivery(ledger, message.id)
        assert (stands.status, stands.tries, stands.due_at) == (Status.QUEUED, 0, later(seconds(1)))
        assert (stands.owner, stands.error_code) == (None, None)
        (attempt,) = await attempts(ledger, message.id)
        assert attempt.status is AttemptStatus.FAILED
        again = await claim_one(ledger, owner=W2, now=later(seconds(1)))
        assert (again.id, again.tries, again.fence) == (message.id, 1, 2)

    async def test_what_its_owner_holds_and_what_others_hold_stays(self, ledger: Ledger) -> None:
        held, lost, theirs = [(await submit(ledger)).id for _ in range(3)]
        assert [c.id for c in await claim(ledger, slots=2, owner=W1)] == [held, lost]
        await claim_one(ledger, owner=W2)
        assert await ledger.outbox.hand_back(W1, [held], T0) == [lost]
        assert await status(ledger, held) is Status.SENDING
        assert await status(ledger, theirs) is Status.SENDING
        assert await ledger.outbox.hand_back(W1, [held], T0) == []

    async def test_an_unsure_try_is_not_handed_back(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        await settle(ledger, await claim_one(ledger, owner=W1), unsure())
        assert await ledger.outbox.hand_back(W1, [], T0) == []
        assert await status(ledger, message.id) is Status.SENDING

    async def test_a_lost_claim_is_handed_back_though_an_earlier_try_was_unsure(
        self, ledger: Ledger, pass_time: PassTime
    ) -> None:
        message = await submit(ledger)
        await settle(ledger, await claim_one(ledger, owner=W1), unsure())
        assert await requeue_stale(ledger, pass_time) == [message.id]
        await claim_one(ledger, owner=W1)
        assert await ledger.outbox.hand_back(W1, [], T0) == [message.id]
        assert (await delivery(ledger, message.id)).tries == 1

    async def test_the_late_verdict_of_a_handed_back_claim_changes_nothing(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        claimed = await claim_one(ledger, owner=W1)
        await ledger.outbox.hand_back(W1, [], T0)
        settled = await settle(ledger, claimed, give_up())
        assert (settled.held, settled.delivery.status) == (False, Status.QUEUED)
        assert await status(ledger, message.id) is Status.QUEUED

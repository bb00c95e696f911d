"""The contract of claim: due messages, in order, each claimed by one worker at a time."""

from __future__ import annotations

import asyncio

from waypost.model.message import AttemptStatus, ClaimedMessage, Status
from waypost.model.time import days, hours, minutes, seconds
from waypost.ports.ledger import Ledger
from waypost_testing.contracts.examples import (
    CUSTOMER,
    NUMBER,
    ORG,
    T0,
    W1,
    W2,
    Ledgers,
    accept,
    attempts,
    claim,
    claim_one,
    delivery,
    later,
    settle,
    submit,
    try_again,
)


class ClaimContract:
    async def test_a_claim_of_nothing_is_empty(self, ledger: Ledger) -> None:
        assert await claim(ledger) == []

    async def test_a_claimed_message_brings_what_a_worker_needs(self, ledger: Ledger) -> None:
        message = await submit(
            ledger, template="hello", payload='{"language":"en"}', max_attempts=3, expires_at=later(hours(1))
        )
        assert await claim_one(ledger, now=later(seconds(2))) == ClaimedMessage(
            id=message.id,
            fence=1,  # type: ignore[arg-type]  # the first claim ever
            generation=1,
            tries=1,
            org_id=ORG,
            sender=NUMBER,
            recipient=CUSTOMER,
            template="hello",
            payload='{"language":"en"}',
            max_attempts=3,
            expires_at=later(hours(1)),
            queue_id=None,
            created_at=T0,
            claimed_at=later(seconds(2)),
            ready_at=T0,
            rank=T0 - 5 * minutes(1),
            start_at=later(seconds(2)),
            delivery=await delivery(ledger, message.id),
        )

    async def test_a_claim_makes_it_sending_and_appends_an_attempt(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        await claim_one(ledger, owner=W2, now=later(seconds(1)))
        stands = await delivery(ledger, message.id)
        assert (stands.status, stands.fence, stands.tries, stands.owner) == (Status.SENDING, 1, 1, W2)
        assert (stands.due_at, stands.updated_at) == (None, later(seconds(1)))
        (attempt,) = await attempts(ledger, message.id)
        assert (attempt.status, attempt.fence, attempt.attempt_no) == (AttemptStatus.TRYING, 1, 1)
        assert (attempt.created_at, attempt.finished_at, attempt.next_retry_at) == (later(seconds(1)), None, None)

    async def test_a_claimed_message_is_not_claimed_again(self, ledger: Ledger) -> None:
        await submit(ledger)
        await claim_one(ledger, owner=W1)
        assert await claim(ledger, owner=W2, now=later(days(1))) == []

    async def test_no_more_than_the_slots_are_taken(self, ledger: Ledger) -> None:
        ids = [(await submit(ledger)).id for _ in range(5)]
        assert [c.id for c in await claim(ledger, slots=2)] == ids[:2]
        assert [c.id for c in await claim(ledger, slots=9)] == ids[2:]

    async def test_messages_of_equal_rank_go_in_the_order_of_their_ids(self, ledger: Ledger) -> None:
        ids = [(await submit(ledger)).id for _ in range(8)]
        assert [c.id for c in await claim(ledger)] == ids

    async def test_a_higher_priority_overtakes(self, ledger: Ledger) -> None:
        low, middle, high = [(await submit(ledger, priority=p)).id for p in (0, 5, 9)]
        assert [c.id for c in await claim(ledger)] == [high, middle, low]

    async def test_a_step_of_priority_is_worth_a_minute_so_nobody_starves(self, ledger: Ledger) -> None:
        waiting = await submit(ledger, priority=5, now=T0)
        soon = await submit(ledger, priority=6, now=later(seconds(59)))
        even = await submit(ledger, priority=6, now=later(minutes(1)))
        late = await submit(ledger, priority=6, now=later(seconds(61)))
        ranked = await claim(ledger, now=later(minutes(2)))
        assert [c.id for c in ranked] == [soon.id, waiting.id, even.id, late.id]

    async def test_a_scheduled_message_waits_for_its_time(self, ledger: Ledger) -> None:
        message = await submit(ledger, scheduled_at=later(minutes(30)))
        assert await claim(ledger, now=later(minutes(30) - 1)) == []  # type: ignore[arg-type]  # a microsecond early
        claimed = await claim_one(ledger, now=later(minutes(30)))
        assert (claimed.id, claimed.ready_at) == (message.id, later(minutes(30)))

    async def test_scheduled_messages_rank_by_the_time_they_were_due(self, ledger: Ledger) -> None:
        second = await submit(ledger, scheduled_at=later(minutes(20)))
        first = await submit(ledger, scheduled_at=later(minutes(10)))
        third = await submit(ledger, now=later(minutes(25)))
        assert [c.id for c in await claim(ledger, now=later(hours(1)))] == [first.id, second.id, third.id]

    async def test_a_second_try_has_the_next_fence_and_number(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        await settle(ledger, await claim_one(ledger), try_again(later(minutes(1))))
        again = await claim_one(ledger, now=later(minutes(1)))
        assert (again.id, again.fence, again.tries, again.generation) == (message.id, 2, 2, 1)
        assert [a.attempt_no for a in await attempts(ledger, message.id)] == [1, 2]

    async def test_claims_of_two_workers_are_disjoint(self, ledgers: Ledgers) -> None:
        ids = {(await submit(ledgers[0])).id for _ in range(60)}
        taken = await asyncio.gather(
            *(claim(ledgers[n % 2], slots=7, owner=(W1, W2)[n % 2]) for n in range(20)),
        )
        taken.append(await claim(ledgers[0]))  # those skipped because the other had locked them for a moment
        claimed = [c.id for batch in taken for c in batch]
        assert sorted(claimed) == sorted(ids)

    async def test_claims_and_submits_at_the_same_time_lose_and_double_nothing(self, ledgers: Ledgers) -> None:
        first, second = ledgers

        async def send_all() -> list[int]:
            sent: list[int] = []
            while len(sent) < 50:
                for claimed in await claim(second, slots=5, owner=W2):
                    await accept(second, claimed)
                    sent.append(claimed.id)
            return sent

        async with asyncio.timeout(30):
            submitted, sent = await asyncio.gather(
                asyncio.gather(*(submit(first) for _ in range(50))),
                send_all(),
            )
        assert sorted(sent) == sorted(message.id for message in submitted)
        assert await claim(first) == []

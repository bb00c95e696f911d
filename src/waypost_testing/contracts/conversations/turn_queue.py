"""The contract of turns: one worker claims a burst, it is answered once, and it is never lost."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from waypost.model.conversation import BOT, CONTACT, Position
from waypost.model.ids import Fence
from waypost.model.message import Status
from waypost.model.time import Instant, Span, seconds
from waypost.ports.conversations.turn_queue import TurnAnswer, TurnCommitted
from waypost.ports.ledger import Ledger
from waypost.rules.conversations.turn_state import MOST_MESSAGES, LeaseLost
from waypost_testing.contracts.conversation_steps import (
    DUE,
    LOST,
    SUPERSEDING,
    TIMES,
    a_turn,
    arrive,
    claim_turn,
    claim_turns,
    commit,
    conversation_with,
    entries,
    replies,
    revoke,
    soon,
    turn_state_of,
    words,
    write,
)
from waypost_testing.contracts.conversations.turn_failures_and_floor import FloorContract, TurnFailureContract
from waypost_testing.contracts.examples import (
    CUSTOMER,
    NUMBER,
    ORG,
    OTHER_ORG,
    W1,
    W2,
    Ledgers,
    a_customer,
    an_inbound,
    drain,
    later,
    status,
    submit,
)


class TurnClaimContract:
    async def test_a_burst_is_due_when_it_was_quiet(self, ledger: Ledger) -> None:
        await write(ledger, "one")
        await write(ledger, "two", now=later(seconds(2)))
        assert await ledger.turn_queue.next_due() == soon(DUE, 2)
        assert await claim_turns(ledger, DUE) == []
        claim = await claim_turn(ledger, soon(DUE, 2))
        assert words(claim.burst) == ["one", "two"]

    async def test_who_never_pauses_is_answered_after_the_longest_wait(self, ledger: Ledger) -> None:
        for second in range(0, 70, 2):
            await write(ledger, str(second), now=later(seconds(second)))
        assert await ledger.turn_queue.next_due() == later(TIMES.max_wait)

    async def test_what_wants_no_answer_is_nobodys_turn(self, ledger: Ledger) -> None:
        await write(ledger, "a reaction", asks=False)
        assert (await ledger.turn_queue.next_due(), await claim_turns(ledger)) == (None, [])

    async def test_what_was_said_before_there_was_a_bot_is_not_asked_of_it(self, ledger: Ledger) -> None:
        await write(ledger, "last year", "last week", asks=False)
        claim = await a_turn(ledger, "now")
        assert words(claim.burst) == ["now"]

    async def test_the_burst_is_fixed_when_it_is_claimed(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger, "one", "two")
        await write(ledger, "three", now=DUE)
        assert (claim.turn_state.done, claim.turn_state.hi, claim.turn_id) == (0, 2, f"{claim.conversation.id}-0-2")
        turn_state = await turn_state_of(ledger, claim.conversation.id)
        assert (turn_state.hi, turn_state.tail, turn_state.owner, turn_state.lease_until) == (2, 3, W1, LOST)

    async def test_different_customers_are_answered_at_the_same_time_within_the_slots(self, ledger: Ledger) -> None:
        for _ in range(5):
            await write(ledger, "hello", customer=a_customer())
        first = await claim_turns(ledger, slots=3)
        second = await claim_turns(ledger, slots=3, owner=W2)
        assert [len(first), len(second)] == [3, 2]
        assert len({claim.conversation.id for claim in [*first, *second]}) == 5

    async def test_however_many_claim_at_once_a_turn_is_taken_by_one(self, ledgers: Ledgers) -> None:
        for _ in range(20):
            await write(ledgers[0], "hello", customer=a_customer())
        claims = await asyncio.gather(*(claim_turns(ledgers[n % 2], slots=4) for n in range(24)))
        taken = [claim.conversation.id for batch in claims for claim in batch]
        assert sorted(taken) == sorted(set(taken))
        taken += [claim.conversation.id for claim in await claim_turns(ledgers[0])]
        assert (len(taken), len(set(taken))) == (20, 20)

    async def test_who_takes_over_runs_the_same_burst_under_the_same_id(self, ledgers: Ledgers) -> None:
        first = await a_turn(ledgers[0], "one", "two")
        await write(ledgers[0], "three", now=DUE)
        assert await claim_turns(ledgers[1], Instant(LOST - 1), W2) == []
        second = await claim_turn(ledgers[1], LOST, W2)
        assert (second.turn_id, second.burst) == (first.turn_id, first.burst)
        assert (first.taken_over, second.taken_over) == (False, True)
        assert second.turn_state.fence > first.turn_state.fence

    async def test_an_expired_turn_is_taken_over_by_one(self, ledgers: Ledgers) -> None:
        await a_turn(ledgers[0])
        claims = await asyncio.gather(*(claim_turns(ledgers[n % 2], LOST, W2) for n in range(10)))
        assert sum(len(batch) for batch in claims) == 1

    async def test_a_burst_beyond_the_limit_is_several_turns_and_every_message_is_in_one(
        self, ledgers: Ledgers
    ) -> None:
        written = [f"line {n}" for n in range(2 * MOST_MESSAGES + 7)]
        await arrive(ledgers[0], *(an_inbound(text=text) for text in written))
        first = await claim_turn(ledgers[0])
        taken_over = await claim_turn(ledgers[1], LOST, W2)
        assert (taken_over.turn_id, taken_over.burst) == (first.turn_id, first.burst)
        shown = [words(taken_over.burst)]
        done = await commit(ledgers[1], taken_over, "an answer", now=LOST)
        while done.turn_state.due_at is not None:
            assert done.turn_state.due_at <= LOST
            claim = await claim_turn(ledgers[0], LOST)
            shown.append(words(claim.burst))
            done = await commit(ledgers[0], claim, "an answer", now=LOST)
        assert [len(burst) for burst in shown] == [MOST_MESSAGES, MOST_MESSAGES, 7]
        assert [text for burst in shown for text in burst] == written

    async def test_only_the_customers_messages_count_towards_a_turn(self, ledger: Ledger) -> None:
        await commit(ledger, await a_turn(ledger, "hello"), *(f"part {n}" for n in range(MOST_MESSAGES)))
        await write(ledger, "one", "two", now=LOST)
        claim = await claim_turn(ledger, soon(LOST, 3))
        assert words([entry for entry in claim.burst if entry.sender == CONTACT]) == ["one", "two"]
        assert (await commit(ledger, claim, "fine", now=soon(LOST, 4))).turn_state.due_at is None

    async def test_the_answer_to_one_part_of_a_burst_is_in_the_history_of_the_next(self, ledger: Ledger) -> None:
        await arrive(ledger, *(an_inbound(text=f"line {n}") for n in range(MOST_MESSAGES + 2)))
        await commit(ledger, await claim_turn(ledger), "an answer")
        claim = await claim_turn(ledger, soon(DUE, 1))
        earlier = await ledger.turn_queue.history(claim.conversation.id, claim.burst[0].position, 2)
        assert words(claim.burst) == [f"line {MOST_MESSAGES}", f"line {MOST_MESSAGES + 1}"]
        assert words(earlier) == [f"line {MOST_MESSAGES - 1}", "an answer"]

    async def test_the_history_is_what_was_said_before_oldest_first(self, ledger: Ledger) -> None:
        await write(ledger, "one", "two", "three", "four")
        conversation = await conversation_with(ledger)
        assert words(await ledger.turn_queue.history(conversation.id, Position(4), 2)) == ["two", "three"]


class TurnCommitContract:
    async def test_the_replies_the_entries_and_the_end_of_the_turn_are_stored_together(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger, "hello")
        done = await commit(ledger, claim, "first", "second")
        shown = await entries(ledger, claim.conversation.id)
        assert [(e.sender, e.message_id) for e in shown] == [(CONTACT, None), *((BOT, id_) for id_ in done.replies)]
        assert words(shown) == ["hello", "first", "second"]
        assert (done.turn_state.done, done.turn_state.hi, done.turn_state.owner, done.blocked) == (1, None, None, 0)
        assert await turn_state_of(ledger, claim.conversation.id) == done.turn_state
        assert await ledger.turn_queue.next_due() is None

    async def test_replies_go_out_one_after_the_other(self, ledger: Ledger) -> None:
        done = await commit(ledger, await a_turn(ledger), "first", "second", "third")
        assert await drain(ledger, DUE) == done.replies

    async def test_replies_of_two_turns_stand_in_one_queue(self, ledger: Ledger) -> None:
        first = await commit(ledger, await a_turn(ledger), "first", "second")
        await write(ledger, "more", now=DUE)
        again = await claim_turn(ledger, soon(DUE, 3))
        second = await commit(ledger, again, "third", now=soon(DUE, 3))
        assert await drain(ledger, soon(DUE, 3)) == [*first.replies, *second.replies]

    async def test_silence_ends_a_turn_too(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        assert (await commit(ledger, claim)).replies == []
        assert await claim_turns(ledger, soon(LOST, 60)) == []

    async def test_handing_over_gives_the_floor_to_any_person(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        done = await ledger.turn_queue.commit(claim, TurnAnswer(hand_over="a complaint"), DUE)
        assert isinstance(done, TurnCommitted)
        assert done.turn_state.floor == "human"
        await write(ledger, "hello?", now=LOST)
        assert await claim_turns(ledger, soon(LOST, 60)) == []

    async def test_a_commit_after_a_takeover_changes_nothing(self, ledgers: Ledgers) -> None:
        late = await a_turn(ledgers[0])
        next_ = await claim_turn(ledgers[1], LOST, W2)
        before = await turn_state_of(ledgers[0], late.conversation.id)
        assert await ledgers[0].turn_queue.commit(late, TurnAnswer(drafts=replies(late, "one")), LOST) == LeaseLost()
        assert await turn_state_of(ledgers[0], late.conversation.id) == before
        assert words(await entries(ledgers[0], late.conversation.id)) == ["hello"]
        assert await drain(ledgers[0], LOST) == []
        done = await commit(ledgers[1], next_, "two", now=LOST)
        assert await drain(ledgers[0], LOST) == done.replies

    async def test_a_second_commit_of_a_turn_changes_nothing(self, ledgers: Ledgers) -> None:
        claim = await a_turn(ledgers[0])
        answers = await asyncio.gather(
            *(
                ledgers[n % 2].turn_queue.commit(claim, TurnAnswer(drafts=replies(claim, str(n))), DUE)
                for n in range(10)
            )
        )
        assert sorted(type(answer).__name__ for answer in answers) == [*["LeaseLost"] * 9, "TurnCommitted"]
        assert len(await drain(ledgers[0], DUE)) == 1
        assert len(await entries(ledgers[0], claim.conversation.id)) == 2

    async def test_an_expired_lease_that_nobody_took_may_still_be_committed(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        assert (await commit(ledger, claim, "late", now=soon(LOST, 60))).turn_state.done == 1

    async def test_what_came_meanwhile_is_the_next_turn(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger, "one")
        await write(ledger, "two", now=DUE)
        await write(ledger, "three", now=soon(DUE, 1))
        done = await commit(ledger, claim, "reply", now=soon(DUE, 2))
        assert done.turn_state.due_at == soon(DUE, 1 + 3)
        next_ = await claim_turn(ledger, soon(DUE, 4))
        assert [entry.body for entry in next_.burst if entry.sender == CONTACT] == [
            entry.body for entry in await entries(ledger, claim.conversation.id) if entry.position in (2, 3)
        ]
        assert (next_.turn_state.done, next_.turn_state.hi) == (1, 3)

    async def test_what_waited_too_long_while_the_bot_thought_is_due_at_once(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger, "one")
        await write(ledger, "two", now=DUE)
        await commit(ledger, claim, "reply", now=soon(DUE, 60))
        assert len(await claim_turns(ledger, soon(DUE, 60))) == 1

    async def test_no_wake_up_is_lost_between_a_commit_and_an_arrival(self, ledgers: Ledgers) -> None:
        for round_ in range(25):
            customer = a_customer()
            claim = await a_turn(ledgers[0], customer=customer)
            await asyncio.gather(
                commit(ledgers[round_ % 2], claim, "reply"), arrive(ledgers[1], an_inbound(customer, DUE), now=DUE)
            )
            turn_state = await turn_state_of(ledgers[0], claim.conversation.id)
            assert (turn_state.done, turn_state.tail > 1, turn_state.due_at, turn_state.owner) == (
                1,
                True,
                soon(DUE, 3),
                None,
            )
            await commit(ledgers[0], await claim_turn(ledgers[0], soon(DUE, 3)), now=soon(DUE, 3))

    async def test_who_has_said_no_gets_no_reply_and_the_turn_ends(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        await revoke(ledger)
        done = await commit(ledger, claim, "one", "two")
        assert (done.replies, done.blocked, done.turn_state.done) == ([], 2, 1)
        assert words(await entries(ledger, claim.conversation.id)) == ["hello"]

    async def test_what_is_exempt_goes_to_who_has_said_no(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        await revoke(ledger)
        done = await commit(ledger, claim, "you are out", exempt=True)
        assert (len(done.replies), done.blocked) == (1, 0)
        assert await status(ledger, done.replies[0]) is Status.QUEUED

    async def test_a_reply_whose_key_another_message_has_is_not_taken_for_said(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        await submit(ledger, key=f"turn:{claim.turn_id}:1", content="somebody else's")
        done = await commit(ledger, claim, "one", "two")
        assert (len(done.replies), done.blocked, done.turn_state.done) == (1, 1, 1)
        assert words(await entries(ledger, claim.conversation.id)) == ["hello", "somebody else's", "two"]
        turn = await ledger.turn_queue.ended(ORG, claim.conversation.id, Position(1))
        assert turn is not None
        assert turn.error == "another message was stored under a reply's idempotency key"

    async def test_a_turn_of_a_conversation_that_is_not_there_is_lost(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        nowhere = replace(claim, turn_state=replace(claim.turn_state, conversation_id=987_654_321))
        assert await ledger.turn_queue.commit(nowhere, TurnAnswer(drafts=replies(claim, "x")), DUE) == LeaseLost()
        assert await ledger.turn_queue.fail(nowhere, "x", TIMES, DUE) == LeaseLost()
        await ledger.turn_queue.let_go([nowhere], DUE)
        assert await drain(ledger, DUE) == []


class TurnLeaseContract:
    async def test_a_lease_is_kept_by_its_holder_only(self, ledgers: Ledgers) -> None:
        claim = await a_turn(ledgers[0])
        where, fence = claim.conversation.id, claim.turn_state.fence
        assert await ledgers[0].turn_queue.renew([(where, fence, TIMES.lease)], soon(DUE, 4)) == {where}
        assert (await turn_state_of(ledgers[0], where)).lease_until == soon(DUE, 4) + TIMES.lease
        assert await claim_turns(ledgers[1], LOST, W2) == []
        assert await ledgers[0].turn_queue.renew([(where, Fence(fence - 1), TIMES.lease)], DUE) == set()
        assert await ledgers[0].turn_queue.renew([], DUE) == set()

    async def test_a_lost_lease_is_not_renewed(self, ledgers: Ledgers) -> None:
        late = await a_turn(ledgers[0])
        await claim_turn(ledgers[1], LOST, W2)
        assert (
            await ledgers[0].turn_queue.renew([(late.conversation.id, late.turn_state.fence, TIMES.lease)], LOST)
            == set()
        )

    async def test_an_ended_turn_is_not_renewed(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        await commit(ledger, claim)
        assert (
            await ledger.turn_queue.renew([(claim.conversation.id, claim.turn_state.fence, TIMES.lease)], DUE) == set()
        )

    async def test_each_turn_is_renewed_for_its_own_lease(self, ledger: Ledger) -> None:
        for _ in range(3):
            await write(ledger, "hello", customer=a_customer())
        claims = await claim_turns(ledger)
        held = [(c.conversation.id, c.turn_state.fence, Span(seconds(n))) for n, c in enumerate(claims, 1)]
        assert len(await ledger.turn_queue.renew(held, DUE)) == 3
        ends = [(await turn_state_of(ledger, c.conversation.id)).lease_until for c in claims]
        assert ends == [soon(DUE, 1), soon(DUE, 2), soon(DUE, 3)]

    async def test_what_is_given_back_is_run_by_the_next_at_once_and_no_try_is_spent(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger, "one")
        await write(ledger, "two", now=DUE)
        await ledger.turn_queue.let_go([claim], DUE)
        again = await claim_turn(ledger, DUE, W2)
        assert (again.turn_id, again.turn_state.tries, again.taken_over) == (claim.turn_id, 0, False)
        await ledger.turn_queue.let_go([claim], DUE)
        assert (await turn_state_of(ledger, claim.conversation.id)).owner == W2

    async def test_the_turns_of_a_worker_that_is_gone_are_taken_over_at_once(self, ledgers: Ledgers) -> None:
        for _ in range(3):
            await write(ledgers[0], "hello", customer=a_customer())
        gone = await claim_turns(ledgers[0], slots=2)
        (other,) = await claim_turns(ledgers[0], owner=W2)
        assert await ledgers[1].turn_queue.abandon(W1, soon(DUE, 1)) == 2
        taken = await claim_turns(ledgers[1], soon(DUE, 1), W2)
        assert {claim.turn_id for claim in taken} == {claim.turn_id for claim in gone}
        assert (await turn_state_of(ledgers[0], other.conversation.id)).lease_until == LOST
        assert await ledgers[1].turn_queue.abandon(W1, soon(DUE, 1)) == 0

    async def test_stale_turns_are_counted(self, ledger: Ledger) -> None:
        await a_turn(ledger)
        assert [await ledger.turn_queue.stale(at) for at in (DUE, Instant(LOST - 1), LOST)] == [0, 0, 1]

    async def test_the_next_moment_is_the_earliest_of_due_and_lost(self, ledger: Ledger) -> None:
        assert await ledger.turn_queue.next_due() is None
        await a_turn(ledger)
        assert await ledger.turn_queue.next_due() == LOST
        await write(ledger, "hello", customer=a_customer(), now=DUE)
        assert await ledger.turn_queue.next_due() == soon(DUE, 3)

    async def test_open_turns_show_who_holds_them_and_how_much_waits(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger, "one")
        await write(ledger, "two", "three", now=DUE)
        await write(ledger, "hello", customer=a_customer(), now=DUE)
        await write(ledger, "theirs", org_id=OTHER_ORG, now=DUE)
        held, waiting = await ledger.turn_queue.open(ORG, 10)
        assert (held.turn_state.owner, held.waiting, held.conversation.id) == (W1, 3, claim.conversation.id)
        assert (waiting.turn_state.owner, waiting.waiting) == (None, 1)
        assert [turn.turn_state.conversation_id for turn in await ledger.turn_queue.open(ORG, 1)] == [
            claim.conversation.id
        ]

    async def test_who_is_answered_has_no_open_turn(self, ledger: Ledger) -> None:
        await commit(ledger, await a_turn(ledger), "done")
        assert await ledger.turn_queue.open(ORG, 10) == []


class TurnSupersedeContract:
    async def test_a_new_message_starts_the_thinking_anew(self, ledger: Ledger) -> None:
        await write(ledger, "one", times=SUPERSEDING)
        late = await claim_turn(ledger, times=SUPERSEDING)
        await write(ledger, "two", now=DUE, times=SUPERSEDING)
        assert await ledger.turn_queue.commit(late, TurnAnswer(drafts=replies(late, "x")), DUE) == LeaseLost()
        assert await drain(ledger, DUE) == []
        claim = await claim_turn(ledger, soon(DUE, 3), times=SUPERSEDING)
        assert words(claim.burst) == ["one", "two"]

    async def test_a_message_that_waited_the_longest_is_answered_whatever_comes(self, ledger: Ledger) -> None:
        await write(ledger, "one", times=SUPERSEDING)
        claim = await claim_turn(ledger, times=SUPERSEDING)
        for second in (0, 1, 2):
            await write(ledger, "more", now=soon(later(TIMES.max_wait), second), times=SUPERSEDING)
        assert (await commit(ledger, claim, "reply", now=soon(later(TIMES.max_wait), 2))).turn_state.done == 1
        assert await ledger.turn_queue.next_due() == soon(later(TIMES.max_wait), 2 + 3)

    @pytest.mark.parametrize("first", ["commit", "arrive"])
    async def test_a_commit_that_meets_the_message_is_whole_or_nothing(self, first: str, ledger: Ledger) -> None:
        await write(ledger, "one", times=SUPERSEDING)
        claim = await claim_turn(ledger, times=SUPERSEDING)
        end = ledger.turn_queue.commit(claim, TurnAnswer(drafts=replies(claim, "reply")), DUE)
        arriving = arrive(ledger, an_inbound(CUSTOMER, DUE, NUMBER, times=SUPERSEDING), now=DUE)
        both = await asyncio.gather(*((end, arriving) if first == "commit" else (arriving, end)))
        sent = await drain(ledger, DUE)
        ((was_committed,),) = [[isinstance(a, TurnCommitted)] for a in both if isinstance(a, TurnCommitted | LeaseLost)]
        assert len(sent) == was_committed
        turn_state = await turn_state_of(ledger, claim.conversation.id)
        assert (turn_state.done, turn_state.due_at) == (1 if was_committed else 0, soon(DUE, 3))


class TurnQueueContract(
    TurnClaimContract, TurnCommitContract, TurnLeaseContract, TurnSupersedeContract, TurnFailureContract, FloorContract
):
    pass

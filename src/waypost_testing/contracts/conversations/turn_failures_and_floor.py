"""The contract of failed turns, and of the floor: held by the bot or by an agent."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from waypost.model.conversation import ConversationId, Position, TurnClaim, TurnTiming
from waypost.model.gate import GateClosing, GateKind, GateName
from waypost.model.message import Status
from waypost.model.time import Instant, seconds
from waypost.ports.conversations.turn_queue import (
    FloorTaken,
    NoConversation,
    TurnAnswer,
    TurnCommitted,
    TurnDeadLettered,
    TurnPostponed,
)
from waypost.ports.ledger import Ledger
from waypost.rules.conversations.turn_state import LeaseLost
from waypost.rules.sending.delivery import Defer, DeliveryVerdict, StandBack
from waypost_testing.contracts.conversation_steps import (
    DUE,
    LOST,
    TIMES,
    a_turn,
    claim_turn,
    claim_turns,
    commit,
    entries,
    replies,
    soon,
    turn_state_of,
    words,
    write,
)
from waypost_testing.contracts.examples import (
    ORG,
    OTHER_ORG,
    W1,
    W2,
    Ledgers,
    PassTime,
    a_customer,
    accept,
    claim_one,
    delivery,
    drain,
    event_kinds,
    requeue_stale,
    settle,
    status,
    try_again,
    unsure,
)

ANN = "user-ann"
CLOSING = GateClosing(org_id=ORG, name=GateName("number:1"), kind=GateKind.THROTTLE, code="130429", reason="wait")
NOT_SENT = pytest.mark.parametrize(
    "verdict",
    [
        try_again(soon(DUE, 60)),
        Defer(DUE, "old_claim", "its worker stood still"),
        StandBack(CLOSING, "too many requests", None),
    ],
    ids=lambda verdict: type(verdict).__name__,
)
SKIPPING = TurnTiming(on_hand_back="skip")
NOWHERE = ConversationId(987_654_321)


async def given_up(ledger: Ledger, times: TurnTiming = TIMES) -> TurnClaim:
    """A turn that no bot could answer."""
    claim = await a_turn(ledger, "one")
    assert isinstance(await ledger.turn_queue.fail(claim, "no way", times, DUE, hopeless=True), TurnDeadLettered)
    return claim


async def taken(ledger: Ledger, conversation: ConversationId, now: Instant = DUE, holder: str = ANN) -> FloorTaken:
    floor = await ledger.turn_queue.take_floor(ORG, conversation, holder, now, holder)
    assert isinstance(floor, FloorTaken)
    return floor


class TurnFailureContract:
    async def test_a_failed_turn_is_tried_again_with_the_same_burst(self, ledger: Ledger) -> None:
        first = await a_turn(ledger, "one")
        assert await ledger.turn_queue.fail(first, "oops", TIMES, DUE) == TurnPostponed(soon(DUE, 1))
        await write(ledger, "two", now=DUE)
        assert await claim_turns(ledger, Instant(soon(DUE, 1) - 1)) == []
        second = await claim_turn(ledger, soon(DUE, 1))
        assert (second.turn_id, words(second.burst), second.turn_state.tries) == (first.turn_id, ["one"], 1)

    async def test_a_bot_that_asks_for_time_gets_it(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        assert await ledger.turn_queue.fail(claim, "busy", TIMES, DUE, wait=seconds(20)) == TurnPostponed(soon(DUE, 20))

    async def test_a_turn_that_keeps_failing_is_given_up_and_a_persons(self, ledger: Ledger) -> None:
        now, claim = DUE, await a_turn(ledger, "one")
        for pause in TIMES.retries:
            assert await ledger.turn_queue.fail(claim, "oops", TIMES, now) == TurnPostponed(Instant(now + pause))
            now = Instant(now + pause)
            claim = await claim_turn(ledger, now)
        assert await ledger.turn_queue.fail(claim, "the last error", TIMES, now) == TurnDeadLettered("human")
        (dead,) = await ledger.turn_queue.failed(ORG, 10)
        assert (dead.conversation_id, dead.lo, dead.hi) == (claim.conversation.id, 0, 1)
        assert (dead.state, dead.error, dead.tries) == ("failed", "the last error", 4)
        turn_state = await turn_state_of(ledger, claim.conversation.id)
        assert (turn_state.floor, turn_state.done, turn_state.due_at, turn_state.owner) == ("human", 1, None, None)

    async def test_the_bot_keeps_the_floor_if_it_is_set_so_and_answers_what_came_later(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger, "one")
        await write(ledger, "two", now=DUE)
        times = TurnTiming(after_failure="bot")
        assert await ledger.turn_queue.fail(claim, "no", times, DUE, hopeless=True) == TurnDeadLettered("bot")
        next_ = await claim_turn(ledger, soon(DUE, 3))
        assert words(next_.burst) == ["two"]

    async def test_who_lost_the_turn_cannot_fail_it(self, ledgers: Ledgers) -> None:
        late = await a_turn(ledgers[0])
        await claim_turn(ledgers[1], LOST, W2)
        before = await turn_state_of(ledgers[0], late.conversation.id)
        assert await ledgers[0].turn_queue.fail(late, "oops", TIMES, LOST, hopeless=True) == LeaseLost()
        assert await turn_state_of(ledgers[0], late.conversation.id) == before
        assert await ledgers[0].turn_queue.failed(ORG, 10) == []

    async def test_the_dead_letters_are_the_orgs_own_newest_first(self, ledger: Ledger) -> None:
        for n in range(3):
            await write(ledger, "x", customer=a_customer())
            claim = await claim_turn(ledger)
            await ledger.turn_queue.fail(claim, str(n), TIMES, soon(DUE, n), hopeless=True)
        assert [turn.error for turn in await ledger.turn_queue.failed(ORG, 2)] == ["2", "1"]
        assert await ledger.turn_queue.failed(OTHER_ORG, 2) == []

    async def test_a_given_up_burst_is_answered_after_all(self, ledger: Ledger) -> None:
        dead = await given_up(ledger)
        await write(ledger, "two", now=DUE)
        where = dead.conversation.id
        turn_state = await ledger.turn_queue.replay(ORG, where, dead.burst[-1].position, LOST, "ann")
        assert turn_state == await turn_state_of(ledger, where)
        claim = await claim_turn(ledger, LOST)
        assert words(claim.burst) == ["one", "two"]
        await commit(ledger, claim, "reply", now=LOST)
        assert await ledger.turn_queue.failed(ORG, 10) == []

    async def test_a_given_up_burst_may_be_given_up_again(self, ledger: Ledger) -> None:
        dead = await given_up(ledger)
        await ledger.turn_queue.replay(ORG, dead.conversation.id, dead.burst[-1].position, LOST, "ann")
        claim = await claim_turn(ledger, LOST)
        assert await ledger.turn_queue.fail(claim, "again", TIMES, LOST, hopeless=True) == TurnDeadLettered("human")
        assert [turn.error for turn in await ledger.turn_queue.failed(ORG, 10)] == ["again"]

    async def test_what_was_answered_since_is_not_replayed(self, ledger: Ledger) -> None:
        dead = await given_up(ledger, TurnTiming(after_failure="bot"))
        await write(ledger, "two", now=DUE)
        await commit(ledger, await claim_turn(ledger, soon(DUE, 3)), "reply", now=soon(DUE, 3))
        hi = dead.burst[-1].position
        assert await ledger.turn_queue.replay(ORG, dead.conversation.id, hi, LOST, "ann") == LeaseLost()
        assert len(await ledger.turn_queue.failed(ORG, 10)) == 1

    async def test_what_is_replayed_twice_is_answered_once(self, ledger: Ledger) -> None:
        dead = await given_up(ledger)
        await write(ledger, "two", now=DUE)
        where, hi = dead.conversation.id, dead.burst[-1].position
        await ledger.turn_queue.replay(ORG, where, hi, LOST, "ann")
        assert await ledger.turn_queue.replay(ORG, where, hi, LOST, "ann") == LeaseLost(), "it waits"
        assert await ledger.turn_queue.replay(OTHER_ORG, where, hi, LOST, "ann") == NoConversation()
        await commit(ledger, await claim_turn(ledger, LOST), "reply", now=LOST)
        for position in (hi, Position(hi + 1)):
            assert await ledger.turn_queue.replay(ORG, where, position, LOST, "ann") == LeaseLost(), "it is answered"
        assert await ledger.turn_queue.replay(ORG, where, Position(hi + 2), LOST, "ann") == NoConversation(), "a reply"

    async def test_only_the_orgs_own_dead_letters_are_replayed(self, ledger: Ledger) -> None:
        dead = await given_up(ledger)
        hi = dead.burst[-1].position
        for org, where in ((OTHER_ORG, dead.conversation.id), (ORG, NOWHERE)):
            assert await ledger.turn_queue.replay(org, where, hi, LOST, "ann") == NoConversation()
        assert (await turn_state_of(ledger, dead.conversation.id)).floor == "human"


class FloorContract:
    async def test_a_person_who_takes_the_floor_fences_the_bot_out(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        assert (await taken(ledger, claim.conversation.id)).turn_state.floor == ANN
        assert await ledger.turn_queue.commit(claim, TurnAnswer(drafts=replies(claim, "x")), DUE) == LeaseLost()
        assert await drain(ledger, DUE) == []
        await write(ledger, "hello?", now=DUE)
        assert await claim_turns(ledger, soon(LOST, 60)) == []

    async def test_what_the_bot_said_and_was_not_sent_is_cancelled(self, ledger: Ledger) -> None:
        done = await commit(ledger, await a_turn(ledger), "sent", "under way", "waits")
        first, second, third = done.replies
        sent = await claim_one(ledger, now=DUE)
        assert sent.id == first
        floor = await taken(ledger, done.turn_state.conversation_id)
        assert list(floor.cancelled) == [second, third]
        assert [await status(ledger, each) for each in done.replies] == [
            Status.SENDING,
            Status.CANCELLED,
            Status.CANCELLED,
        ]

    @NOT_SENT
    async def test_what_was_under_way_is_not_tried_again(self, verdict: DeliveryVerdict, ledger: Ledger) -> None:
        done = await commit(ledger, await a_turn(ledger), "under way")
        claimed = await claim_one(ledger, now=DUE)
        await taken(ledger, done.turn_state.conversation_id)
        await ledger.turn_queue.hand_back(ORG, done.turn_state.conversation_id, TIMES, DUE, ANN)
        settled = await settle(ledger, claimed, verdict, DUE)
        assert (settled.held, settled.delivery.status) == (True, Status.CANCELLED)
        assert settled.delivery.error_code == "TAKEN_OVER"
        assert (await event_kinds(ledger, claimed.id))[-1] == "cancelled"
        assert await drain(ledger, soon(LOST, 3600)) == [], "also after the bot got the floor back"

    async def test_what_was_handed_back_is_not_sent_after_a_takeover(self, ledger: Ledger) -> None:
        done = await commit(ledger, await a_turn(ledger), "claimed, and its answer was lost")
        await claim_one(ledger, owner=W1, now=DUE)
        await taken(ledger, done.turn_state.conversation_id)
        await ledger.outbox.hand_back(W1, [], DUE)
        (reply,) = done.replies
        assert (await delivery(ledger, reply)).error_code == "TAKEN_OVER"
        assert await status(ledger, reply) is Status.CANCELLED

    async def test_what_was_under_way_and_arrived_is_sent(self, ledger: Ledger) -> None:
        done = await commit(ledger, await a_turn(ledger), "under way", "waits")
        claimed = await claim_one(ledger, now=DUE)
        await taken(ledger, done.turn_state.conversation_id)
        settled = await accept(ledger, claimed, now=DUE)
        assert (settled.delivery.status, settled.delivery.error_code) == (Status.SENT, None)

    async def test_what_nobody_knows_of_is_left_to_the_person_who_took_over(
        self, ledger: Ledger, pass_time: PassTime
    ) -> None:
        done = await commit(ledger, await a_turn(ledger), "under way")
        claimed = await claim_one(ledger, now=DUE)
        await settle(ledger, claimed, unsure(), DUE)
        await taken(ledger, done.turn_state.conversation_id)
        assert await requeue_stale(ledger, pass_time) == []
        assert (await delivery(ledger, claimed.id)).parked

    async def test_only_this_conversations_words_are_cancelled(self, ledger: Ledger) -> None:
        ends = []
        for customer in (a_customer(), a_customer()):
            await write(ledger, "hi", customer=customer)
            ends.append(await commit(ledger, await claim_turn(ledger), "reply"))
        both = await asyncio.gather(
            taken(ledger, ends[0].turn_state.conversation_id), taken(ledger, ends[1].turn_state.conversation_id)
        )
        assert [list(floor.cancelled) for floor in both] == [list(end.replies) for end in ends]

    @pytest.mark.parametrize("first", ["commit", "take"])
    async def test_a_floor_taken_while_the_turn_ends_leaves_no_reply_waiting(self, first: str, ledger: Ledger) -> None:
        for _ in range(5):
            await write(ledger, "hi", customer=a_customer())
            claim = await claim_turn(ledger)
            end = ledger.turn_queue.commit(claim, TurnAnswer(drafts=replies(claim, "one", "two")), DUE)
            floor = taken(ledger, claim.conversation.id)
            answers = await asyncio.gather(*((end, floor) if first == "commit" else (floor, end)))
            assert await drain(ledger, DUE) == []
            (done,) = [answer for answer in answers if isinstance(answer, TurnCommitted | LeaseLost)]
            assert len(await entries(ledger, claim.conversation.id)) == (3 if isinstance(done, TurnCommitted) else 1)
            assert (await turn_state_of(ledger, claim.conversation.id)).floor == ANN

    async def test_a_floor_and_a_commit_of_two_processes_leave_no_reply_waiting(self, ledgers: Ledgers) -> None:
        for _ in range(10):
            await write(ledgers[0], "hi", customer=a_customer())
            claim = await claim_turn(ledgers[0])
            end = ledgers[0].turn_queue.commit(claim, TurnAnswer(drafts=replies(claim, "one")), DUE)
            await asyncio.gather(end, taken(ledgers[1], claim.conversation.id))
            assert await drain(ledgers[0], DUE) == []

    async def test_the_same_person_takes_the_floor_once(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        first = await taken(ledger, claim.conversation.id)
        assert await taken(ledger, claim.conversation.id) == replace(first, cancelled=[])
        assert (await taken(ledger, claim.conversation.id, holder="user-bob")).turn_state.floor == "user-bob"

    async def test_handing_back_answers_what_came_meanwhile(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger, "one")
        await taken(ledger, claim.conversation.id)
        await write(ledger, "two", now=DUE)
        back = await ledger.turn_queue.hand_back(ORG, claim.conversation.id, TIMES, LOST, ANN)
        assert isinstance(back, FloorTaken)
        assert (back.turn_state.floor, back.turn_state.due_at) == ("bot", LOST)
        again = await claim_turn(ledger, LOST)
        assert words(again.burst) == ["one", "two"]

    async def test_handing_back_skips_what_came_meanwhile_if_it_is_set_so(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger, "one")
        await taken(ledger, claim.conversation.id)
        await write(ledger, "two", now=DUE)
        await ledger.turn_queue.hand_back(ORG, claim.conversation.id, SKIPPING, LOST, ANN)
        assert await claim_turns(ledger, soon(LOST, 60)) == []
        await write(ledger, "three", now=LOST)
        assert words((await claim_turn(ledger, soon(LOST, 3))).burst) == ["three"]

    async def test_handing_back_what_the_bot_has_changes_nothing(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        before = await turn_state_of(ledger, claim.conversation.id)
        assert await ledger.turn_queue.hand_back(ORG, claim.conversation.id, TIMES, DUE, ANN) == FloorTaken(before, [])
        assert (await commit(ledger, claim, "reply")).turn_state.done == 1

    async def test_nobody_takes_or_gives_another_orgs_floor(self, ledger: Ledger) -> None:
        done = await commit(ledger, await a_turn(ledger), "reply")
        where = done.turn_state.conversation_id
        for org, conversation in ((OTHER_ORG, where), (ORG, NOWHERE)):
            assert await ledger.turn_queue.take_floor(org, conversation, ANN, DUE, ANN) == NoConversation()
            assert await ledger.turn_queue.hand_back(org, conversation, TIMES, DUE, ANN) == NoConversation()
        assert await turn_state_of(ledger, where) == done.turn_state
        assert await drain(ledger, DUE) == done.replies

    async def test_a_change_of_the_floor_is_shown_and_audited(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        await taken(ledger, claim.conversation.id)
        await ledger.turn_queue.hand_back(ORG, claim.conversation.id, TIMES, LOST, ANN)
        items = await ledger.feeds.after(f"team:{ORG}", 0, 10)
        assert [(item.kind, item.body) for item in items if item.kind == "floor"] == [
            ("floor", '{"floor":"user-ann"}'),
            ("floor", '{"floor":"bot"}'),
        ]

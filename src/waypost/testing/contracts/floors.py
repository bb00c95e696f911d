"""The contract of turns that go wrong, and of who has the floor: the bot, or a person."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from waypost.model.conversation import Claim, ConversationId, Position, Times
from waypost.model.message import Status
from waypost.model.time import Instant, seconds
from waypost.ports.lanes import Answered, Committed, FloorTaken, GivenUp, NoConversation, Postponed
from waypost.ports.ledger import Ledger
from waypost.rules.lane import LeaseLost
from waypost.testing.contracts.examples import (
    ORG,
    OTHER_ORG,
    W2,
    Ledgers,
    a_customer,
    claim_one,
    drain,
    status,
)
from waypost.testing.contracts.talking import (
    DUE,
    LOST,
    TIMES,
    a_turn,
    claim_turn,
    claim_turns,
    commit,
    entries,
    lane_of,
    replies,
    soon,
    words,
    write,
)

ANN = "user-ann"
SKIPPING = Times(on_hand_back="skip")
NOWHERE = ConversationId(987_654_321)


async def given_up(ledger: Ledger, times: Times = TIMES) -> Claim:
    """A turn that no bot could answer."""
    claim = await a_turn(ledger, "one")
    assert isinstance(await ledger.lanes.fail(claim, "no way", times, DUE, hopeless=True), GivenUp)
    return claim


async def taken(ledger: Ledger, conversation: ConversationId, now: Instant = DUE, holder: str = ANN) -> FloorTaken:
    floor = await ledger.lanes.take_floor(ORG, conversation, holder, now, holder)
    assert isinstance(floor, FloorTaken)
    return floor


class TroubleContract:
    async def test_a_failed_turn_is_tried_again_with_the_same_burst(self, ledger: Ledger) -> None:
        first = await a_turn(ledger, "one")
        assert await ledger.lanes.fail(first, "oops", TIMES, DUE) == Postponed(soon(DUE, 1))
        await write(ledger, "two", now=DUE)
        assert await claim_turns(ledger, Instant(soon(DUE, 1) - 1)) == []
        second = await claim_turn(ledger, soon(DUE, 1))
        assert (second.turn_id, words(second.burst), second.lane.tries) == (first.turn_id, ["one"], 1)

    async def test_a_bot_that_asks_for_time_gets_it(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        assert await ledger.lanes.fail(claim, "busy", TIMES, DUE, wait=seconds(20)) == Postponed(soon(DUE, 20))

    async def test_a_turn_that_keeps_failing_is_given_up_and_a_persons(self, ledger: Ledger) -> None:
        now, claim = DUE, await a_turn(ledger, "one")
        for pause in TIMES.retries:
            assert await ledger.lanes.fail(claim, "oops", TIMES, now) == Postponed(Instant(now + pause))
            now = Instant(now + pause)
            claim = await claim_turn(ledger, now)
        assert await ledger.lanes.fail(claim, "the last error", TIMES, now) == GivenUp("human")
        (dead,) = await ledger.lanes.failed(ORG, 10)
        assert (dead.conversation_id, dead.lo, dead.hi) == (claim.conversation.id, 0, 1)
        assert (dead.state, dead.error, dead.tries) == ("failed", "the last error", 4)
        lane = await lane_of(ledger, claim.conversation.id)
        assert (lane.floor, lane.done, lane.due_at, lane.owner) == ("human", 1, None, None)

    async def test_the_bot_keeps_the_floor_if_it_is_set_so_and_answers_what_came_later(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger, "one")
        await write(ledger, "two", now=DUE)
        times = Times(after_failure="bot")
        assert await ledger.lanes.fail(claim, "no", times, DUE, hopeless=True) == GivenUp("bot")
        next_ = await claim_turn(ledger, soon(DUE, 3))
        assert words(next_.burst) == ["two"]

    async def test_who_lost_the_turn_cannot_fail_it(self, ledgers: Ledgers) -> None:
        late = await a_turn(ledgers[0])
        await claim_turn(ledgers[1], LOST, W2)
        before = await lane_of(ledgers[0], late.conversation.id)
        assert await ledgers[0].lanes.fail(late, "oops", TIMES, LOST, hopeless=True) == LeaseLost()
        assert await lane_of(ledgers[0], late.conversation.id) == before
        assert await ledgers[0].lanes.failed(ORG, 10) == []

    async def test_the_dead_letters_are_the_orgs_own_newest_first(self, ledger: Ledger) -> None:
        for n in range(3):
            await write(ledger, "x", customer=a_customer())
            claim = await claim_turn(ledger)
            await ledger.lanes.fail(claim, str(n), TIMES, soon(DUE, n), hopeless=True)
        assert [turn.error for turn in await ledger.lanes.failed(ORG, 2)] == ["2", "1"]
        assert await ledger.lanes.failed(OTHER_ORG, 2) == []

    async def test_a_given_up_burst_is_answered_after_all(self, ledger: Ledger) -> None:
        dead = await given_up(ledger)
        await write(ledger, "two", now=DUE)
        where = dead.conversation.id
        lane = await ledger.lanes.replay(ORG, where, dead.burst[-1].position, LOST, "ann")
        assert lane == await lane_of(ledger, where)
        claim = await claim_turn(ledger, LOST)
        assert words(claim.burst) == ["one", "two"]
        await commit(ledger, claim, "reply", now=LOST)
        assert await ledger.lanes.failed(ORG, 10) == []

    async def test_a_given_up_burst_may_be_given_up_again(self, ledger: Ledger) -> None:
        dead = await given_up(ledger)
        await ledger.lanes.replay(ORG, dead.conversation.id, dead.burst[-1].position, LOST, "ann")
        claim = await claim_turn(ledger, LOST)
        assert await ledger.lanes.fail(claim, "again", TIMES, LOST, hopeless=True) == GivenUp("human")
        assert [turn.error for turn in await ledger.lanes.failed(ORG, 10)] == ["again"]

    async def test_what_was_answered_since_is_not_replayed(self, ledger: Ledger) -> None:
        dead = await given_up(ledger, Times(after_failure="bot"))
        await write(ledger, "two", now=DUE)
        await commit(ledger, await claim_turn(ledger, soon(DUE, 3)), "reply", now=soon(DUE, 3))
        hi = dead.burst[-1].position
        assert await ledger.lanes.replay(ORG, dead.conversation.id, hi, LOST, "ann") == LeaseLost()
        assert len(await ledger.lanes.failed(ORG, 10)) == 1

    async def test_what_is_replayed_twice_is_answered_once(self, ledger: Ledger) -> None:
        dead = await given_up(ledger)
        await write(ledger, "two", now=DUE)
        where, hi = dead.conversation.id, dead.burst[-1].position
        await ledger.lanes.replay(ORG, where, hi, LOST, "ann")
        assert await ledger.lanes.replay(ORG, where, hi, LOST, "ann") == LeaseLost(), "it waits"
        assert await ledger.lanes.replay(OTHER_ORG, where, hi, LOST, "ann") == NoConversation()
        await commit(ledger, await claim_turn(ledger, LOST), "reply", now=LOST)
        for position in (hi, Position(hi + 1)):
            assert await ledger.lanes.replay(ORG, where, position, LOST, "ann") == LeaseLost(), "it is answered"
        assert await ledger.lanes.replay(ORG, where, Position(hi + 2), LOST, "ann") == NoConversation(), "a reply"

    async def test_only_the_orgs_own_dead_letters_are_replayed(self, ledger: Ledger) -> None:
        dead = await given_up(ledger)
        hi = dead.burst[-1].position
        for org, where in ((OTHER_ORG, dead.conversation.id), (ORG, NOWHERE)):
            assert await ledger.lanes.replay(org, where, hi, LOST, "ann") == NoConversation()
        assert (await lane_of(ledger, dead.conversation.id)).floor == "human"


class FloorContract:
    async def test_a_person_who_takes_the_floor_fences_the_bot_out(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        assert (await taken(ledger, claim.conversation.id)).lane.floor == ANN
        assert await ledger.lanes.commit(claim, Answered(drafts=replies(claim, "x")), DUE) == LeaseLost()
        assert await drain(ledger, DUE) == []
        await write(ledger, "hello?", now=DUE)
        assert await claim_turns(ledger, soon(LOST, 60)) == []

    async def test_what_the_bot_said_and_was_not_sent_is_cancelled(self, ledger: Ledger) -> None:
        done = await commit(ledger, await a_turn(ledger), "sent", "under way", "waits")
        first, second, third = done.replies
        sent = await claim_one(ledger, now=DUE)
        assert sent.id == first
        floor = await taken(ledger, done.lane.conversation_id)
        assert list(floor.cancelled) == [second, third]
        assert [await status(ledger, each) for each in done.replies] == [
            Status.SENDING,
            Status.CANCELLED,
            Status.CANCELLED,
        ]

    async def test_only_this_conversations_words_are_cancelled(self, ledger: Ledger) -> None:
        ends = []
        for customer in (a_customer(), a_customer()):
            await write(ledger, "hi", customer=customer)
            ends.append(await commit(ledger, await claim_turn(ledger), "reply"))
        both = await asyncio.gather(
            taken(ledger, ends[0].lane.conversation_id), taken(ledger, ends[1].lane.conversation_id)
        )
        assert [list(floor.cancelled) for floor in both] == [list(end.replies) for end in ends]

    @pytest.mark.parametrize("first", ["commit", "take"])
    async def test_a_floor_taken_while_the_turn_ends_leaves_no_reply_waiting(self, first: str, ledger: Ledger) -> None:
        for _ in range(5):
            await write(ledger, "hi", customer=a_customer())
            claim = await claim_turn(ledger)
            end = ledger.lanes.commit(claim, Answered(drafts=replies(claim, "one", "two")), DUE)
            floor = taken(ledger, claim.conversation.id)
            answers = await asyncio.gather(*((end, floor) if first == "commit" else (floor, end)))
            assert await drain(ledger, DUE) == []
            (done,) = [answer for answer in answers if isinstance(answer, Committed | LeaseLost)]
            assert len(await entries(ledger, claim.conversation.id)) == (3 if isinstance(done, Committed) else 1)
            assert (await lane_of(ledger, claim.conversation.id)).floor == ANN

    async def test_a_floor_and_a_commit_of_two_processes_leave_no_reply_waiting(self, ledgers: Ledgers) -> None:
        for _ in range(10):
            await write(ledgers[0], "hi", customer=a_customer())
            claim = await claim_turn(ledgers[0])
            end = ledgers[0].lanes.commit(claim, Answered(drafts=replies(claim, "one")), DUE)
            await asyncio.gather(end, taken(ledgers[1], claim.conversation.id))
            assert await drain(ledgers[0], DUE) == []

    async def test_the_same_person_takes_the_floor_once(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        first = await taken(ledger, claim.conversation.id)
        assert await taken(ledger, claim.conversation.id) == replace(first, cancelled=[])
        assert (await taken(ledger, claim.conversation.id, holder="user-bob")).lane.floor == "user-bob"

    async def test_handing_back_answers_what_came_meanwhile(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger, "one")
        await taken(ledger, claim.conversation.id)
        await write(ledger, "two", now=DUE)
        back = await ledger.lanes.hand_back(ORG, claim.conversation.id, TIMES, LOST, ANN)
        assert isinstance(back, FloorTaken)
        assert (back.lane.floor, back.lane.due_at) == ("bot", LOST)
        again = await claim_turn(ledger, LOST)
        assert words(again.burst) == ["one", "two"]

    async def test_handing_back_skips_what_came_meanwhile_if_it_is_set_so(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger, "one")
        await taken(ledger, claim.conversation.id)
        await write(ledger, "two", now=DUE)
        await ledger.lanes.hand_back(ORG, claim.conversation.id, SKIPPING, LOST, ANN)
        assert await claim_turns(ledger, soon(LOST, 60)) == []
        await write(ledger, "three", now=LOST)
        assert words((await claim_turn(ledger, soon(LOST, 3))).burst) == ["three"]

    async def test_handing_back_what_the_bot_has_changes_nothing(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        before = await lane_of(ledger, claim.conversation.id)
        assert await ledger.lanes.hand_back(ORG, claim.conversation.id, TIMES, DUE, ANN) == FloorTaken(before, [])
        assert (await commit(ledger, claim, "reply")).lane.done == 1

    async def test_nobody_takes_or_gives_another_orgs_floor(self, ledger: Ledger) -> None:
        done = await commit(ledger, await a_turn(ledger), "reply")
        where = done.lane.conversation_id
        for org, conversation in ((OTHER_ORG, where), (ORG, NOWHERE)):
            assert await ledger.lanes.take_floor(org, conversation, ANN, DUE, ANN) == NoConversation()
            assert await ledger.lanes.hand_back(org, conversation, TIMES, DUE, ANN) == NoConversation()
        assert await lane_of(ledger, where) == done.lane
        assert await drain(ledger, DUE) == done.replies

    async def test_a_change_of_the_floor_is_shown_and_audited(self, ledger: Ledger) -> None:
        claim = await a_turn(ledger)
        await taken(ledger, claim.conversation.id)
        await ledger.lanes.hand_back(ORG, claim.conversation.id, TIMES, LOST, ANN)
        items = await ledger.feeds.after(f"team:{ORG}", 0, 10)
        assert [(item.kind, item.body) for item in items if item.kind == "floor"] == [
            ("floor", '{"floor":"user-ann"}'),
            ("floor", '{"floor":"bot"}'),
        ]

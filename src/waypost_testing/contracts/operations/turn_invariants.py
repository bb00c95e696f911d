"""The contract of the invariant checks over turns: no finding in valid data, and each planted violation is named."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest
from msgspec.structs import replace

from waypost.model.conversation import ConversationId, TurnClaim, TurnTiming
from waypost.model.ids import WorkerId
from waypost.model.message import Draft
from waypost.model.time import Instant, minutes, seconds
from waypost.model.webhook import WebhookBatch
from waypost.ports.conversations.turn_queue import TurnAnswer, TurnCommitted, TurnDemand
from waypost.ports.ledger import Ledger
from waypost.ports.operations.invariants import ConversationScan, Invariant, InvariantFinding
from waypost.rules.conversations.reply_keys import key
from waypost_testing.contracts.chat_steps import ANN, BOB, open_chat, say
from waypost_testing.contracts.examples import ORG, T0, a_draft, an_inbound, later

InsertTurnRows: TypeAlias = Callable[[str], Awaitable[object]]
TIMES = TurnTiming()
WORKER = WorkerId("worker")
LOOK = ConversationScan(after=0, upto=2**40, latest=3, arrived_since=Instant(T0 - minutes(1)), most=20)


async def wrote(ledger: Ledger, count: int, now: Instant) -> None:
    for _ in range(count):
        await ledger.journal.apply_webhook(WebhookBatch([], [], [an_inbound(at=now)]), now)


async def claimed(ledger: Ledger, now: Instant) -> TurnClaim:
    (claim,) = await ledger.turn_queue.claim(TurnDemand(WORKER, 1), lambda _: TIMES, now)
    return claim


def a_reply(claim: TurnClaim) -> Draft:
    return replace(
        a_draft(), idempotency_key=key(claim.turn_id, 1), conversation_id=claim.conversation.id, created_by="bot"
    )


async def answer(ledger: Ledger, claim: TurnClaim, now: Instant) -> None:
    done = await ledger.turn_queue.commit(claim, TurnAnswer(drafts=(a_reply(claim),)), now)
    assert isinstance(done, TurnCommitted)


async def two_turns(ledger: Ledger) -> ConversationId:
    """A burst of two and a burst of one, both answered, and one more that waits."""
    await one_turn(ledger, 2, T0)
    where = await one_turn(ledger, 1, later(minutes(1)))
    await wrote(ledger, 1, later(minutes(2)))
    return where


async def one_turn(ledger: Ledger, burst: int, now: Instant) -> ConversationId:
    await wrote(ledger, burst, now)
    due = Instant(now + seconds(10))
    claim = await claimed(ledger, due)
    await answer(ledger, claim, due)
    return claim.conversation.id


async def looked(ledger: Ledger, look: ConversationScan = LOOK) -> list[InvariantFinding]:
    fed, further = await ledger.invariants.feeds("", 10, 3)
    assert further is None
    return [*await ledger.invariants.conversations(look), *fed]


class TurnDetectorContract:
    async def test_nothing_is_found_where_there_is_nothing(self, ledger: Ledger) -> None:
        assert await ledger.invariants.newest_conversation() == 0
        assert await looked(ledger) == []

    async def test_nothing_is_found_where_every_turn_went_well(self, ledger: Ledger) -> None:
        where = await two_turns(ledger)
        assert await ledger.invariants.newest_conversation() == where
        assert await looked(ledger) == []
        claim = await claimed(ledger, later(minutes(3)))
        assert await looked(ledger) == []
        await ledger.turn_queue.fail(claim, "away", TIMES, later(minutes(3)), hopeless=True)
        await ledger.turn_queue.replay(
            ORG, where, claim.turn_state.hi or claim.turn_state.tail, later(minutes(4)), "cli"
        )
        assert await looked(ledger) == []
        await answer(ledger, await claimed(ledger, later(minutes(5))), later(minutes(5)))
        assert await looked(ledger) == []

    async def test_what_a_person_answered_or_left_is_no_gap(self, ledger: Ledger) -> None:
        where = await two_turns(ledger)
        await ledger.turn_queue.take_floor(ORG, where, "human", later(minutes(3)), "cli")
        skip = TurnTiming(on_hand_back="skip")
        await ledger.turn_queue.hand_back(ORG, where, skip, later(minutes(4)), "cli")
        await wrote(ledger, 1, later(minutes(5)))
        await answer(ledger, await claimed(ledger, later(minutes(6))), later(minutes(6)))
        assert await looked(ledger) == []

    async def test_a_handover_by_the_bot_leaves_no_gap_either(self, ledger: Ledger) -> None:
        where = await two_turns(ledger)
        claim = await claimed(ledger, later(minutes(3)))
        await ledger.turn_queue.commit(claim, TurnAnswer(hand_over="asked for a person"), later(minutes(3)))
        await wrote(ledger, 2, later(minutes(4)))
        await ledger.turn_queue.hand_back(ORG, where, TurnTiming(on_hand_back="skip"), later(minutes(5)), "cli")
        await wrote(ledger, 1, later(minutes(6)))
        await answer(ledger, await claimed(ledger, later(minutes(7))), later(minutes(7)))
        assert await looked(ledger) == []

    @pytest.mark.parametrize(
        ("invariant", "hand"),
        [
            (Invariant.TURNS_OVERLAP, "UPDATE turn SET lo = lo - 1 WHERE lo > 0"),
            (Invariant.TURNS_OVERLAP, "UPDATE lane SET done = done - 1"),
            (Invariant.TURNS_GAP, "UPDATE turn SET lo = lo + 1 WHERE lo > 0"),
            (Invariant.ANSWERED_TWICE, "UPDATE turn SET replies = 0 WHERE lo = 0"),
            (Invariant.TURN_NOWHERE, "UPDATE lane SET due_at = NULL"),
            (Invariant.ENTRY_GAP, "DELETE FROM entry WHERE position = 5"),
            (Invariant.ENTRY_GAP, "UPDATE conversation SET position = position + 1"),
            (Invariant.ENTRY_GAP, "UPDATE conversation SET position = position - 1"),
        ],
    )
    async def test_of_a_conversation(
        self, invariant: Invariant, hand: str, ledger: Ledger, plant: InsertTurnRows
    ) -> None:
        where = await two_turns(ledger)
        await plant(hand)
        assert await looked(ledger) == [InvariantFinding(invariant, f"conversation {where}")]
        assert await looked(ledger, replace(LOOK, after=where)) == []

    async def test_of_a_reply_whose_turn_has_not_ended(self, ledger: Ledger, plant: InsertTurnRows) -> None:
        where = await two_turns(ledger)
        claim = await claimed(ledger, later(minutes(3)))
        reply_key = key(claim.turn_id, 1)
        await plant(f"UPDATE message SET idempotency_key = '{reply_key}' WHERE id = (SELECT min(id) FROM message)")  # noqa: S608  # our own
        assert await looked(ledger) == [InvariantFinding(Invariant.ANSWERED_TWICE, f"conversation {where}")]

    async def test_of_an_arrival_that_was_not_stored(self, ledger: Ledger, plant: InsertTurnRows) -> None:
        where = await two_turns(ledger)
        wrong = [InvariantFinding(Invariant.ARRIVAL_WITHOUT_ENTRY, f"conversation {where}")]
        await plant("UPDATE entry SET wamid = 'wamid.other' WHERE position = 1")
        assert await looked(ledger) == wrong
        assert await looked(ledger, replace(LOOK, arrived_since=later(minutes(1)))) == []

    async def test_of_a_post_that_was_not_stored(self, ledger: Ledger, plant: InsertTurnRows) -> None:
        chat = await open_chat(ledger, ANN, BOB)
        for text in "abc":
            await say(ledger, chat, ANN, text)
        assert await looked(ledger) == []
        await plant("UPDATE entry SET client_message_id = 'other' WHERE position = 2")
        assert await looked(ledger) == [InvariantFinding(Invariant.POST_WITHOUT_ENTRY, f"conversation {chat.id}")]

    @pytest.mark.parametrize("hand", ["DELETE FROM feed_item WHERE seq = 5", "UPDATE feed SET head = head + 1"])
    async def test_of_a_feed(self, hand: str, ledger: Ledger, plant: InsertTurnRows) -> None:
        await two_turns(ledger)
        await plant(hand)
        assert await looked(ledger) == [InvariantFinding(Invariant.FEED_GAP, f"feed team:{ORG}")]

    async def test_feeds_are_walked_by_name(self, ledger: Ledger, plant: InsertTurnRows) -> None:
        for name in "abc":
            await plant(f"INSERT INTO feed (name, head) VALUES ('{name}', 1)")  # noqa: S608  # our own
        first, further = await ledger.invariants.feeds("", 2, 3)
        assert ([found.subject for found in first], further) == (["feed a", "feed b"], "b")
        assert await ledger.invariants.feeds("b", 2, 3) == ([InvariantFinding(Invariant.FEED_GAP, "feed c")], None)

    async def test_of_a_turn_that_nobody_takes(self, ledger: Ledger) -> None:
        await wrote(ledger, 1, T0)
        due = later(seconds(3))
        assert await ledger.invariants.late(Instant(due - 1), due, 10) == []
        (late,) = await ledger.invariants.late(due, due, 10)
        assert (late.invariant, late.fence, late.since) == (Invariant.TURN_OVERDUE, 0, due)
        assert late.finding.subject == f"conversation {late.conversation_id}"

    async def test_of_a_turn_that_nobody_takes_over(self, ledger: Ledger) -> None:
        await wrote(ledger, 1, T0)
        claim = await claimed(ledger, later(seconds(3)))
        over = later(seconds(9))
        assert await ledger.invariants.late(over, Instant(over - 1), 10) == []
        (late,) = await ledger.invariants.late(over, over, 10)
        assert (late.invariant, late.fence, late.since) == (Invariant.TURN_ABANDONED, claim.turn_state.fence, over)

    async def test_of_who_has_the_floor_as_a_person_nothing_is_late(self, ledger: Ledger) -> None:
        await wrote(ledger, 1, T0)
        (turn,) = await ledger.turn_queue.open(ORG, 10)
        await ledger.turn_queue.take_floor(ORG, turn.conversation.id, "human", later(seconds(1)), "cli")
        assert await ledger.invariants.late(later(minutes(99)), later(minutes(99)), 10) == []
        assert await looked(ledger) == []

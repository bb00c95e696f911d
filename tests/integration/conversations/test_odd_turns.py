"""For any message and any failure of a bot: the turn ends, and no customer waits for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.stage.harness import Stage
from waypost.flow.conversations import answer_turn
from waypost.model.conversation import TurnClaim, TurnTiming
from waypost.model.ids import NumberId
from waypost.model.time import Instant
from waypost.model.turn import Answer, Turn
from waypost.ports.conversations.bot import BotFailed
from waypost.ports.conversations.turn_queue import TurnAnswer, TurnDemand
from waypost_testing.contracts.conversation_steps import arrive, replies, turn_state_of
from waypost_testing.contracts.examples import W1, an_inbound

TIMES = TurnTiming()


class A:
    """A bot of one function."""

    history = 10
    thinks = False

    def __init__(self, answer: Callable[[Turn], Answer]) -> None:
        self._answer = answer

    async def answer(self, turn: Turn) -> Answer:
        return self._answer(turn)

    async def close(self) -> None: ...


async def a_turn(stage: Stage, *bodies: str, **fields: Any) -> TurnClaim:
    now = stage.clock.now()
    wrote = [an_inbound(at=now, number=NumberId("1001"), body=body, times=TIMES, **fields) for body in bodies]
    await arrive(stage.world.ledger, *wrote, now=now)
    due = Instant(now + TIMES.quiet)
    (claim,) = await stage.world.ledger.turn_queue.claim(TurnDemand(W1, 9), lambda _: TIMES, due)
    return claim


@pytest.mark.parametrize(
    "body",
    ["5", '"text"', '{"type":"text","text":5}', '{"type":"text","text":{"body":1e999}}', "[" * 3000 + "]" * 3000, "{"],
    ids=["a number", "a text", "odd", "endless", "deep", "half"],
)
async def test_an_odd_message_is_answered_like_any_other(stage: Stage, body: str) -> None:
    claim = await a_turn(stage, body, '{"type":"text","text":{"body":"hello"}}')
    await answer_turn.converse(claim, A(lambda turn: f"{turn.messages[-1].text} {len(turn.messages)}"), stage.world)
    assert (await turn_state_of(stage.world.ledger, claim.conversation.id)).done == 2
    (said,) = await stage.database.run("SELECT body FROM entry WHERE sender = 'bot'")
    assert '"hello 2"' in said[0]


@pytest.mark.parametrize("words", ["a\0b", "half \ud83d of it", "x" * 100_000], ids=["NUL", "half", "long"])
async def test_an_error_that_no_database_can_store_ends_the_turn_too(stage: Stage, words: str) -> None:
    def fails(turn: Turn) -> Answer:
        raise ValueError(words)

    claim = await a_turn(stage, '{"type":"text","text":{"body":"hello"}}')
    await answer_turn.converse(claim, A(fails), stage.world)
    lane = await turn_state_of(stage.world.ledger, claim.conversation.id)
    assert (lane.owner, lane.tries) == (None, 1)


async def test_an_answer_that_cannot_be_stored_is_the_bots_failure(stage: Stage) -> None:
    claim = await a_turn(stage, '{"type":"text","text":{"body":"hello"}}')
    drafts = replies(claim, "reply", subject="half \ud83d")
    with pytest.raises(BotFailed) as failed:
        await answer_turn.commit(claim, TurnAnswer(drafts=drafts), stage.world)
    assert failed.value.hopeless
    assert await stage.database.run("SELECT count(*) FROM message") == [(0,)]

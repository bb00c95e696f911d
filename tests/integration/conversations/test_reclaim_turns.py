"""A worker that is known to be gone: its turns are free at once, by a hint or by its successor's start."""

from __future__ import annotations

import asyncio

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import Stage
from tests.integration.stage.webhooks import PHONE
from waypost.adapters.bots.echo import EchoBot
from waypost.flow.conversations import reclaim_turns
from waypost.model.conversation import BOT, TurnClaim, TurnTiming
from waypost.model.ids import OrgId, WorkerId
from waypost.model.time import seconds
from waypost.ports.conversations.turn_queue import FloorTaken, TurnAnswer, TurnDemand
from waypost.ports.platform.hints import TURNS, worker_gone
from waypost.rules.conversations.turn_state import LeaseLost

FIRST, SECOND = WorkerId("first"), WorkerId("second")


async def claimed(stage: Stage, worker: WorkerId) -> list[TurnClaim]:
    demand = TurnDemand(worker, 10)
    return list(await stage.world.ledger.turn_queue.claim(demand, lambda _: TurnTiming(), stage.clock.now()))


async def held_by_the_first(set_up: OpenStage) -> tuple[Stage, TurnClaim]:
    """A burst that waits for an answer in a server where only the test answers."""
    stage = await set_up(bot=EchoBot())
    await stage._control("POST", f"phones/{PHONE.removeprefix('+')}/say", {"text": "hello"})
    stage.manual.advance(seconds(3))
    (claim,) = await claimed(stage, FIRST)
    assert await claimed(stage, SECOND) == []
    return stage, claim


async def test_the_turns_of_a_worker_that_is_gone_may_be_taken_at_once(set_up: OpenStage) -> None:
    stage, late = await held_by_the_first(set_up)
    with stage.hints.listen(TURNS) as ear:
        assert await reclaim_turns.abandon_turns([SECOND, FIRST], stage.world) == 1
        assert await ear.wait(seconds(0)), "whoever looks for turns is woken"
    (claim,) = await claimed(stage, SECOND)
    assert (claim.turn_id, claim.burst, claim.taken_over) == (late.turn_id, late.burst, True)
    lanes = stage.world.ledger.turn_queue
    assert await lanes.commit(late, TurnAnswer(), stage.clock.now()) == LeaseLost()
    assert await reclaim_turns.abandon_turns([FIRST], stage.world) == 0, "they are another's now"


async def test_a_hint_that_names_the_worker_frees_its_turns(set_up: OpenStage) -> None:
    stage, _ = await held_by_the_first(set_up)
    following = asyncio.ensure_future(reclaim_turns.follow_worker_exits(stage.world))
    await asyncio.sleep(0)  # it listens now
    stage.hints.give([worker_gone("stranger"), worker_gone(FIRST)])
    assert [claim.taken_over for claim in await stage.eventually(lambda: claimed(stage, SECOND))] == [True]
    following.cancel()


async def test_the_answer_of_a_bot_that_thinks_while_a_person_takes_over_is_held_back(set_up: OpenStage) -> None:
    stage, late = await held_by_the_first(set_up)
    lanes, org, talk = stage.world.ledger.turn_queue, OrgId(stage.acme.org), late.conversation.id
    taken = await lanes.take_floor(org, talk, "anna", stage.clock.now(), "anna")
    assert isinstance(taken, FloorTaken)
    assert await lanes.commit(late, TurnAnswer(), stage.clock.now()) == LeaseLost()
    assert await claimed(stage, SECOND) == [], "the bot is silent"
    back = await lanes.hand_back(org, talk, TurnTiming(on_hand_back="skip"), stage.clock.now(), "anna")
    assert isinstance(back, FloorTaken)
    assert back.turn_state.floor == BOT
    assert await claimed(stage, SECOND) == [], "what came meanwhile is left, as it is set"

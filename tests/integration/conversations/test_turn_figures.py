"""Turn metrics: turns that others left behind, and turns that are held."""

from __future__ import annotations

import asyncio

from tests.integration.conftest import OpenStage
from tests.integration.conversations.test_turns_over_http import answered
from tests.integration.stage.harness import Stage
from tests.integration.stage.thinking import PatientBot, wrote
from waypost.model.ids import WorkerId
from waypost.model.time import Instant, minutes, seconds
from waypost.ports.conversations.turn_queue import TurnDemand
from waypost.runtime.process.server import ProcessRole, Server


async def figures(server: Server) -> list[str]:
    return (await asyncio.to_thread(server.metrics)).decode().splitlines()


async def counted(stage: Stage, server: Server, figure: str) -> None:
    async def look() -> bool:
        return figure in await figures(server)

    assert await stage.eventually(look)


async def left_lying(stage: Stage) -> None:
    """A worker claimed a turn and disappeared."""
    await wrote(stage, "one")
    stage.manual.advance(seconds(3))
    times = stage.world.tuning.turns
    demand = TurnDemand(WorkerId("gone"), 1)
    assert await stage.world.ledger.turn_queue.claim(demand, lambda _: times, stage.clock.now())


async def test_a_worker_that_starts_counts_the_turns_that_others_let_lie(set_up: OpenStage, bot: PatientBot) -> None:
    stage = await set_up(bot=bot, roles=frozenset({ProcessRole.API}))
    await left_lying(stage)
    stage.manual.advance(minutes(1))
    second = await stage.add_server()
    await counted(stage, second, "turn_stale_at_start_total 1.0")
    bot.says("after all")
    await answered(stage, "after all")
    assert "turn_takeover_total 1.0" in await figures(second)


async def test_a_worker_that_starts_counts_what_its_predecessor_left(set_up: OpenStage, bot: PatientBot) -> None:
    """Its lease has not expired: only the end of the predecessor is known."""
    stage = await set_up(bot=bot, roles=frozenset({ProcessRole.API}))
    await left_lying(stage)
    second = await stage.add_server(predecessors="another gone")
    await counted(stage, second, "turn_stale_at_start_total 1.0")
    bot.says("at once")
    await answered(stage, "at once")


async def test_what_is_held_shows_in_the_figures(talking: Stage) -> None:
    stage = talking
    await stage.database.run(
        "INSERT INTO lane (conversation_id, org_id, tail, done, fence, tries, floor, due_at, owner, claimed_at, "
        f"lease_until) VALUES (90, 'acme', 1, 0, 1, 0, 'bot', NULL, 'other', {stage.clock.now()}, {2**62})"
    )
    stage.manual.advance(seconds(30))
    survey = await stage.world.ledger.queue_stats.survey(5, stage.clock.now())
    assert survey.turns.backlog == 0
    assert survey.turns.first_claimed_at == Instant(stage.clock.now() - seconds(30))
    stage.world.meters.surveyed(survey, stage.clock.now())
    assert await stage.metric("turn_longest_held_seconds") == 30
    assert await stage.metric("turn_oldest_due_seconds") == 0

"""What a bot receives of a conversation: its own last messages too, edits applied, nothing that was deleted."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from tests.integration.conversations.test_odd_turns import TIMES, A
from tests.integration.stage.harness import Stage
from waypost.flow.conversations import answer_turn
from waypost.model.conversation import TurnClaim, TurnTiming
from waypost.model.ids import NumberId, Wamid
from waypost.model.time import Instant, seconds
from waypost.model.turn import Answer, Handover, Turn
from waypost.ports.conversations.bot import BotFailed
from waypost.ports.conversations.turn_queue import TurnDemand
from waypost.rules.conversations.turn_state import MOST_MESSAGES
from waypost_testing.contracts.conversation_steps import arrive, turn_state_of
from waypost_testing.contracts.examples import W1, an_inbound


async def wrote(stage: Stage, *messages: tuple[str, dict[str, Any]], after: float = 0, asks: bool = True) -> None:
    """(wamid, message) each, a while later."""
    now = Instant(stage.clock.now() + seconds(after))
    told = [
        an_inbound(
            at=now,
            number=NumberId("1001"),
            wamid=Wamid(wamid),
            type=message["type"],
            body=msgspec.json.encode({"timestamp": str(now // 1_000_000), **message}).decode(),
            times=TIMES,
            asks=asks,
        )
        for wamid, message in messages
    ]
    await arrive(stage.world.ledger, *told, now=now)


async def claimed(stage: Stage, after: float = 60, times: TurnTiming = TIMES) -> TurnClaim:
    now = Instant(stage.clock.now() + seconds(after))
    (claim,) = await stage.world.ledger.turn_queue.claim(TurnDemand(W1, 9), lambda _: times, now)
    return claim


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": {"body": words}}


async def shown(stage: Stage, claim: TurnClaim, answer: Answer = "an answer") -> Turn:
    seen: list[Turn] = []

    def looks(turn: Turn) -> Answer:
        seen.append(turn)
        return answer

    await answer_turn.converse(claim, A(looks), stage.world)
    return seen[0]


async def test_its_own_last_answer_is_part_of_the_history(stage: Stage) -> None:
    await wrote(stage, ("w1", text("one")))
    await shown(stage, await claimed(stage), ["first", "second"])
    await wrote(stage, ("w2", text("two")), after=120)
    turn = await shown(stage, await claimed(stage, 180))
    assert [line.text for line in turn.messages] == ["two"]
    assert [(line.sender, line.text) for line in turn.history] == [
        ("contact", "one"),
        ("bot", "first"),
        ("bot", "second"),
    ]


async def test_a_long_burst_is_shown_whole_turn_by_turn_with_the_answers_in_between(stage: Stage) -> None:
    said = [f"line {n}" for n in range(2 * MOST_MESSAGES + 1)]
    await wrote(stage, *((f"w{n}", text(words)) for n, words in enumerate(said)))
    turns = [await shown(stage, await claimed(stage), f"answer {n}") for n in range(3)]
    assert [line.text for turn in turns for line in turn.messages] == said
    assert [len(turn.messages) for turn in turns] == [MOST_MESSAGES, MOST_MESSAGES, 1]
    assert [[line.text for line in turn.history if line.sender == "bot"] for turn in turns] == [
        [],
        ["answer 0"],
        ["answer 0", "answer 1"],
    ]


async def test_a_very_large_message_is_shown_whole(stage: Stage) -> None:
    large = "so much to say " * 5_000
    await wrote(stage, ("w1", text(large)), ("w2", text("sorry")))
    turn = await shown(stage, await claimed(stage))
    assert [line.text for line in turn.messages] == [large, "sorry"]


async def test_an_edit_that_comes_last_is_what_it_answers(stage: Stage) -> None:
    edit = {"original_message_id": "w1", "message": text("I want 10 pieces")}
    await wrote(stage, ("w1", text("I want 100 pieces")))
    await wrote(stage, ("w2", {"type": "edit", "edit": edit}), after=1, asks=False)
    turn = await shown(stage, await claimed(stage))
    assert [line.text for line in turn.messages] == ["I want 10 pieces"]


async def test_what_was_taken_back_is_not_answered_and_not_shown_later(stage: Stage) -> None:
    await wrote(stage, ("w1", text("my PIN is 1234")))
    await wrote(stage, ("w2", {"type": "revoke", "revoke": {"original_message_id": "w1"}}), after=1, asks=False)
    claim = await claimed(stage)
    await answer_turn.converse(claim, A(lambda turn: "never"), stage.world)
    assert (await turn_state_of(stage.world.ledger, claim.conversation.id)).done == 2
    await wrote(stage, ("w3", text("hello")), after=120)
    turn = await shown(stage, await claimed(stage, 180))
    assert [line.text for line in [*turn.history, *turn.messages]] == ["hello"]


async def test_a_notice_of_the_providers_is_nobodys_words(stage: Stage) -> None:
    notice = {"type": "system", "system": {"body": "User A changed from 1 to 2"}}
    await wrote(stage, ("w1", notice), asks=False)
    await wrote(stage, ("w2", text("new number here")), after=1)
    turn = await shown(stage, await claimed(stage))
    assert [line.text for line in turn.messages] == ["new number here"]


async def test_a_handover_is_in_the_audit_with_its_reason(stage: Stage) -> None:
    await wrote(stage, ("w1", text("a person please")))
    claim = await claimed(stage)
    await shown(stage, claim, Handover("asked for a person"))
    (entry,) = (await stage.get("/api/v1/outbound/audit?entityType=CONVERSATION"))["content"]
    assert (entry["action"], entry["actor"]) == ("FLOOR_CHANGED", "bot")
    assert "asked for a person" in entry["details"]


async def test_a_bot_that_does_not_listen_loses_its_turn_at_the_limit(stage: Stage) -> None:
    class Deaf(A):
        async def answer(self, turn: Turn) -> Answer:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                await asyncio.sleep(0.5)
            return "too late"

    await wrote(stage, ("w1", text("hello")))
    claim = await claimed(stage)
    times = TurnTiming(limit=seconds(0.05))
    turn = await answer_turn.read_turn(claim, Deaf(lambda _: None), stage.world)
    with pytest.raises(BotFailed, match="no answer within"):
        await answer_turn.ask_bot(turn, claim, Deaf(lambda _: None), times, stage.world)


async def test_a_burst_that_silences_every_worker_goes_to_a_person(stage: Stage) -> None:
    await wrote(stage, ("w1", text("poison")))
    claim = await claimed(stage)
    for n in range(1, 10):
        claim = await claimed(stage, 60 + n * 60)
    asked: list[Turn] = []
    await answer_turn.converse(claim, A(asked.append), stage.world)
    assert asked == []
    assert (await turn_state_of(stage.world.ledger, claim.conversation.id)).floor == "human"
    (dead,) = (await stage.get("/api/v1/turns?state=failed"))["failed"]
    assert "several workers stopped" in dead["error"]

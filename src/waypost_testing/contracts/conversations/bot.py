"""The contract of a bot: one burst in, one answer out, and every failure shows whether a retry may help."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol

import pytest

from waypost.model.turn import Customer, Turn, TurnMessage
from waypost.ports.conversations.bot import Bot, BotFailed
from waypost.rules.conversations.bot_answers import HandoverRequested, Replies, Silence, parse_answer

ENOUGH = 20.0
"""Seconds; nothing here takes as long."""
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


class BotBackendMode(StrEnum):
    """How the service behind the bot treats the next turns."""

    ECHO = "echo"
    """It answers with the lines of the burst."""
    HAND_OVER = "hand over"
    KEEP_SILENT = "keep silent"
    FAIL_FOR_NOW = "fail for now"
    FAIL_FOR_GOOD = "fail for good"
    HANG = "hang"


class BotFixture(Protocol):
    """What the test of a bot provides."""

    bot: Bot
    impatient: Bot
    """The same bot with a limit of a fraction of a second, if it has a limit."""
    secrets: tuple[str, ...]
    """Secrets that no reason may show; every failure repeats them, as a careless service would."""
    cannot: str
    """Why it can only echo; empty if it knows every behaviour."""

    def be(self, mood: BotBackendMode) -> None:
        """From now on."""

    async def reached(self) -> None:
        """Wait until a turn has reached the hanging service."""


def a_line(text: str, **change: Any) -> TurnMessage:
    content = {"type": "text", "text": {"body": text}}
    fields: dict[str, Any] = {"sender": "contact", "type": "text", "text": text, "content": content, "timestamp": NOON}
    return TurnMessage(**fields | change)


def a_turn(*lines: str | TurnMessage, **change: Any) -> Turn:
    fields: dict[str, Any] = {
        "id": "turn_1",
        "org_id": "acme",
        "conversation_id": "conv_1",
        "number": "100000000000001",
        "contact": Customer(id="contact_1", name="Ada", phone="+15550001111"),
        "messages": [line if isinstance(line, TurnMessage) else a_line(line) for line in lines],
        "history": [],
    }
    return Turn(**fields | change)


async def words(bot: Bot, turn: Turn) -> str:
    answer = parse_answer(await bot.answer(turn))
    assert isinstance(answer, Replies), answer
    return "\n".join(payload["text"]["body"] for payload in answer.payloads)


async def failure(bot: Bot, turn: Turn) -> BotFailed:
    with pytest.raises(BotFailed) as failed:
        async with asyncio.timeout(ENOUGH):
            await bot.answer(turn)
    return failed.value


def put(stage: BotFixture, mood: BotBackendMode) -> None:
    if stage.cannot:
        pytest.skip(stage.cannot)
    stage.be(mood)


class BotContract:
    """Inherit it, and provide a fixture `stage`."""

    async def test_a_whole_burst_is_answered_at_once(self, stage: BotFixture) -> None:
        answer = await words(stage.bot, a_turn("one", "two", "three"))
        places = [answer.index(line) for line in ("one", "two", "three")]
        assert places == sorted(places)

    async def test_the_same_turn_may_be_asked_again(self, stage: BotFixture) -> None:
        assert await words(stage.bot, a_turn("one")) == await words(stage.bot, a_turn("one", attempt=2))

    async def test_customers_are_answered_at_the_same_time_and_not_mixed_up(self, stage: BotFixture) -> None:
        turns = [a_turn(f"customer-{number}-", id=f"turn_{number}") for number in range(20)]
        answers = await asyncio.gather(*(words(stage.bot, turn) for turn in turns))
        assert all(turn.messages[0].text in answer for turn, answer in zip(turns, answers, strict=True))

    async def test_a_message_without_words_is_answered_too(self, stage: BotFixture) -> None:
        image = a_line("", type="image", content={"type": "image", "image": {"id": "1"}})
        assert "[image]" in await words(stage.bot, a_turn(image))

    async def test_every_script_arrives_whole(self, stage: BotFixture) -> None:
        assert "你好 مرحبا 👩‍👩‍👧 e\u0301" in await words(stage.bot, a_turn("你好 مرحبا 👩‍👩‍👧 e\u0301"))

    async def test_it_says_how_much_history_it_wants(self, stage: BotFixture) -> None:
        assert stage.bot.history >= 0
        assert isinstance(stage.bot.thinks, bool)

    async def test_it_may_hand_over(self, stage: BotFixture) -> None:
        put(stage, BotBackendMode.HAND_OVER)
        answer = parse_answer(await stage.bot.answer(a_turn("a person, please")))
        assert isinstance(answer, HandoverRequested), answer
        assert answer.reason

    async def test_it_may_say_nothing(self, stage: BotFixture) -> None:
        put(stage, BotBackendMode.KEEP_SILENT)
        assert parse_answer(await stage.bot.answer(a_turn("thanks"))) == Silence()

    async def test_a_failure_for_now_may_be_tried_again_and_shows_no_secret(self, stage: BotFixture) -> None:
        put(stage, BotBackendMode.FAIL_FOR_NOW)
        failed = await failure(stage.bot, a_turn("one"))
        assert not failed.hopeless
        assert failed.reason
        assert not [secret for secret in stage.secrets if secret in failed.reason]
        stage.be(BotBackendMode.ECHO)
        assert "one" in await words(stage.bot, a_turn("one", attempt=2))

    async def test_a_failure_for_good_is_hopeless_and_shows_no_secret(self, stage: BotFixture) -> None:
        put(stage, BotBackendMode.FAIL_FOR_GOOD)
        failed = await failure(stage.bot, a_turn("one"))
        assert failed.hopeless
        assert failed.reason
        assert not [secret for secret in stage.secrets if secret in failed.reason]

    async def test_a_hung_one_is_given_up_and_may_be_tried_again(self, stage: BotFixture) -> None:
        put(stage, BotBackendMode.HANG)
        failed = await failure(stage.impatient, a_turn("one"))
        assert not failed.hopeless
        assert "in time" in failed.reason or "within" in failed.reason

    async def test_it_may_be_cancelled_and_asked_again(self, stage: BotFixture) -> None:
        put(stage, BotBackendMode.HANG)
        thinking = asyncio.ensure_future(stage.bot.answer(a_turn("one")))
        await stage.reached()
        thinking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await thinking
        stage.be(BotBackendMode.ECHO)
        assert "two" in await words(stage.bot, a_turn("two"))

    async def test_closing_twice_does_no_harm(self, stage: BotFixture) -> None:
        await stage.bot.close()
        await stage.bot.close()

"""A bot that is the user's own HTTP service: what it receives, and what each of its answers means."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.integration.stage.bot_service import SECRET, BotService, bot_service
from waypost.adapters.bots.http import LARGEST_ANSWER, HttpBot, signature
from waypost.adapters.reqwest.transport import ReqwestTransport
from waypost.model.turn import Handover
from waypost_testing.contracts.conversations.bot import a_line, a_turn, failure
from waypost_testing.contracts.platform.http_transport import closed_port


@pytest.fixture
async def transport() -> AsyncIterator[ReqwestTransport]:
    transport = ReqwestTransport("waypost-test/1")
    yield transport
    await transport.close()


@pytest.fixture
async def service() -> AsyncIterator[BotService]:
    async with bot_service() as service:
        yield service


@pytest.fixture
def bot(transport: ReqwestTransport, service: BotService) -> HttpBot:
    return HttpBot(transport, service.url, SECRET, timeout=20.0, history=5)


async def test_the_turn_is_asked_whole(service: BotService, bot: HttpBot) -> None:
    turn = a_turn("one", "two", history=[a_line("before", sender="bot")], attempt=2)
    assert await bot.answer(turn) == ["one\ntwo"]
    headers = service.requests[0].headers
    assert (headers["Idempotency-Key"], headers["X-Waypost-Attempt"]) == ("turn_1", "2")
    assert headers["Content-Type"] == "application/json"
    assert service.turns[0] == {
        "id": "turn_1",
        "org_id": "acme",
        "conversation_id": "conv_1",
        "number": "100000000000001",
        "contact": {
            "id": "contact_1",
            "name": "Ada",
            "phone": "+15550001111",
            "user_id": None,
            "username": None,
            "dossier_id": None,
        },
        "messages": [line("one"), line("two")],
        "history": [line("before", "bot")],
        "attempt": 2,
    }


def line(text: str, sender: str = "contact") -> dict[str, Any]:
    content = {"type": "text", "text": {"body": text}}
    at = "2026-11-16T12:00:00Z"
    return {"sender": sender, "type": "text", "text": text, "content": content, "timestamp": at, "media_id": None}


def test_the_signature_is_that_of_the_raw_body() -> None:
    wanted = hmac.new(SECRET.encode(), b'{"a":1}', hashlib.sha256).hexdigest()
    assert signature(SECRET, b'{"a":1}') == f"sha256={wanted}"


async def test_another_secret_is_refused_for_good(service: BotService, transport: ReqwestTransport) -> None:
    failed = await failure(HttpBot(transport, service.url, "another", timeout=20.0, history=5), a_turn("one"))
    assert (failed.hopeless, failed.reason) == (True, "the bot's service answered HTTP 401: wrong signature")


@pytest.mark.parametrize(
    ("status", "told", "answer"),
    [
        (200, {"replies": ["one", {"text": "two"}]}, ["one", {"text": "two"}]),
        (200, {"replies": ["one"], "trace": 5}, ["one"]),
        (200, {"replies": []}, []),
        (200, {"handover": "angry"}, Handover("angry")),
        (200, {"handover": ""}, Handover("")),
        (200, {"replies": None, "handover": "angry"}, Handover("angry")),
        (200, {"replies": None}, None),
        (200, {}, None),
        (204, b"", None),
    ],
)
async def test_an_answer_is_understood(
    status: int, told: object, answer: object, service: BotService, bot: HttpBot
) -> None:
    service.say(status, told)
    assert await bot.answer(a_turn("hello")) == answer


@pytest.mark.parametrize(
    ("told", "hopeless", "reason"),
    [
        (b"", False, "the bot's answer is not JSON"),
        (b"<html>", False, "the bot's answer is not JSON"),
        (b"[" * 100_000, False, "the bot's answer is not JSON"),
        (b'"\xff"', False, "the bot's answer is not JSON"),
        ([], False, "the bot's answer must be a JSON object"),
        ({"reply": "hi"}, True, "the bot's answer has neither `replies` nor `handover`"),
        ({"replies": "hi"}, True, "the bot's answer must have a list of `replies` or a text as `handover`"),
        ({"handover": True}, True, "the bot's answer must have a list of `replies` or a text as `handover`"),
        (
            {"replies": ["x"], "handover": "y"},
            True,
            "the bot's answer must have a list of `replies` or a text as `handover`",
        ),
        (b" " * (LARGEST_ANSWER + 1), True, "the bot's answer has 1048577 bytes, at most 1048576 are allowed"),
    ],
)
async def test_an_answer_that_makes_no_sense_is_a_failure(
    told: object, hopeless: bool, reason: str, service: BotService, bot: HttpBot
) -> None:
    service.say(200, told)
    failed = await failure(bot, a_turn("hello"))
    assert (failed.hopeless, failed.reason) == (hopeless, reason)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
async def test_a_refusal_that_may_pass_says_when(status: int, service: BotService, bot: HttpBot) -> None:
    service.say(status, b"busy\n  now", Retry_After="7")
    failed = await failure(bot, a_turn("hello"))
    assert (failed.hopeless, failed.retry_after) == (False, 7.0)
    assert failed.reason == f"the bot's service answered HTTP {status}: busy now"
    assert len(service.requests) == 1


@pytest.mark.parametrize("status", [201, 202, 301, 307, 400, 401, 403, 404, 410, 422])
async def test_any_other_is_hopeless(status: int, service: BotService, bot: HttpBot) -> None:
    service.say(status, b"", Retry_After="7", Location=service.url)
    failed = await failure(bot, a_turn("hello"))
    assert (failed.hopeless, failed.retry_after) == (True, None)
    assert failed.reason == f"the bot's service answered HTTP {status}"
    assert len(service.requests) == 1


async def test_a_refusal_is_shown_without_secrets_and_not_endless(service: BotService, bot: HttpBot) -> None:
    service.say(500, f"{SECRET} +15550001111 ".encode() * 1000)
    reason = (await failure(bot, a_turn("hello"))).reason
    assert SECRET not in reason
    assert "5550001111" not in reason
    assert len(reason) < 250


async def test_a_service_that_is_not_there_may_come_back(transport: ReqwestTransport) -> None:
    bot = HttpBot(transport, f"http://127.0.0.1:{closed_port()}/", SECRET, timeout=20.0, history=5)
    failed = await failure(bot, a_turn("hello"))
    assert (failed.hopeless, failed.reason) == (False, "the bot's service: no connection could be made")
